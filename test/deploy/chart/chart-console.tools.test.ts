import { describe, expect, inject, it } from 'vitest';
import { environmentOf, find, helmTemplate, podsOf, policyOf, render, valuesFile } from './render.ts';

const helm = inject('helm');
const refused = async (...sets: string[]) => {
  const args = ['--set', 'console.enabled=true', ...sets.flatMap((one) => ['--set', one])];
  return (await helmTemplate(helm, '-f', valuesFile('minimal'), ...args)).error;
};

describe('the console of the chart', () => {
  it('is off by default', async () => {
    const manifests = await render(helm, 'minimal');
    expect(manifests.filter(({ metadata }) => metadata.name.endsWith('-console'))).toEqual([]);
  });

  it('does not run without a login, without roles, or with a header that anybody could write', async () => {
    expect(await refused()).toContain(
      'console.enabled needs a login: set one of console.oidc.issuer and console.userHeader',
    );
    const oidc = ['console.oidc.issuer=https://id.example', 'console.publicUrl=https://console.example'];
    expect(await refused(...oidc)).toContain('console.roles is needed');
    expect(await refused('console.userHeader=X-User', 'console.roles={a=view}')).toContain(
      'console.trustedProxies is needed',
    );
    expect(await refused('console.userHeader=X-User', 'console.roles={a=root}')).toContain(
      '/console/roles/0',
    );
    expect(await refused(...oidc, 'console.oidc.clientId=c', 'console.roles={a=view}')).toContain(
      'console.oidc.secret is needed',
    );
  });

  it('takes a userHeader with nothing behind it for none, with oidc and without it', async () => {
    const loginless = [
      'console.userHeader=null',
      'console.roles={a=view}',
      'console.trustedProxies={10.0.0.0/8}',
    ];
    expect(await refused(...loginless)).toContain('console.enabled needs a login');
    const manifests = await render(helm, 'full', '--set', 'console.userHeader=null');
    expect(manifests).toEqual(await render(helm, 'full'));
  });

  it('sends no session without TLS, unless that is allowed', async () => {
    const issuer = 'console.oidc.issuer=https://id.example';
    const needed = 'console.publicUrl must be the https address of the console';
    expect(await refused(issuer)).toContain(needed);
    expect(await refused(issuer, 'console.publicUrl=http://console.example')).toContain(needed);
    expect(await refused(issuer, 'allowPlaintextCredentials=true')).not.toContain(needed);
  });

  it('reads every pod, and is reached by its port alone', async () => {
    const manifests = await render(helm, 'full');
    expect(environmentOf(manifests, 'pay-hookline-console')).toMatchObject({
      CONSOLE_TARGETS: 'http://pay-hookline-ingress-metrics:9464,http://pay-hookline-control-metrics:9464',
      CONSOLE_ROLES: 'payments=view,payments-oncall=operate,cn=leads%2Cou=payments=reveal',
      PROMETHEUS_MATCH: 'namespace="payments"',
    });
    const policy = policyOf(manifests, 'console');
    expect(policy.spec.ingress.map(({ ports }: { ports: unknown }) => ports)).toEqual([
      [{ port: 'http', protocol: 'TCP' }],
    ]);
    const deployment = find(manifests, 'Deployment', 'pay-hookline-console');
    const [{ pod } = {}] = podsOf([deployment]);
    const [container] = pod?.containers ?? [];
    expect(container?.env).toContainEqual({
      name: 'CONSOLE_OIDC_CLIENT_SECRET_FILE',
      value: '/etc/hookline/console-oidc/client-secret',
    });
    expect(container?.volumeMounts).toContainEqual({ name: 'index', mountPath: '/var/lib/hookline/console' });
  });
});
