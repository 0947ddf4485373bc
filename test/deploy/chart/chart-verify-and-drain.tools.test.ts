import { describe, expect, inject, it } from 'vitest';
import {
  COMPONENT,
  find,
  helmTemplate,
  type Manifest,
  podsOf,
  policyOf,
  render,
  valuesFile,
} from './render.ts';

const helm = inject('helm');
const set = (...values: string[]) => values.flatMap((value) => ['--set', value]);
const names = (manifests: readonly Manifest[], component: string) =>
  manifests.filter(({ metadata }) => metadata.labels[COMPONENT] === component).map(({ kind }) => kind);
const podOf = (manifests: readonly Manifest[], owner: string) =>
  podsOf(manifests).find((one) => one.owner.metadata.name === owner)?.pod ?? expect.fail(`no ${owner}`);
const variablesOf = (manifests: readonly Manifest[], owner: string) =>
  Object.fromEntries(
    podOf(manifests, owner).containers.flatMap(({ env = [] }) => env.map(({ name, value }) => [name, value])),
  );
/** Paths under SECRETS_DIR in the pods of a process. */
const keysOf = (manifests: readonly Manifest[], owner: string) =>
  JSON.stringify(podOf(manifests, owner).volumes?.find(({ name }) => name === 'subscriptions') ?? null);

describe('the drain of spools whose pod is gone', () => {
  it('comes with the spool, and without it where it is asked for', async () => {
    const all = ['ServiceAccount', 'ConfigMap', 'Role', 'RoleBinding', 'CronJob', 'NetworkPolicy'].sort();
    const of = async (values: string, ...more: string[]) =>
      names(await render(helm, values, ...set(...more)), 'spool-drain').sort();
    expect(await of('spool')).toEqual(all);
    expect(await of('spool', 'ingress.spool.drain.mode=never')).toEqual([]);
    expect(await of('minimal')).toEqual([]);
    expect(await of('minimal', 'ingress.spool.drain.mode=always')).toEqual(all);
  });

  it.each(['spool', 'minimal'])(
    'drains as ingress would, with its identity, keys and store: %s',
    async (values) => {
      const manifests = await render(helm, values, ...set('ingress.spool.drain.mode=always'));
      const pod = podOf(manifests, 'pay-hookline-drain-{ordinal}');
      const kind = values === 'spool' ? 'StatefulSet' : 'Deployment';
      const ingress = find(manifests, kind, 'pay-hookline-ingress').spec.template.spec;
      const drain = pod.containers[0];
      const own = ingress.containers[0];
      expect(drain?.args).toEqual(['src/cli/main.ts', 'spool', 'drain', '--unattended']);
      expect(drain?.env).toEqual(expect.arrayContaining(own.env));
      expect(drain?.env).toContainEqual({ name: 'SPOOL_DIR', value: '/var/lib/hookline/spool' });
      expect(drain?.volumeMounts).toEqual(expect.arrayContaining(own.volumeMounts));
      expect(pod.volumes).toEqual(
        expect.arrayContaining([
          ...ingress.volumes,
          { name: 'spool', persistentVolumeClaim: { claimName: '{claim}' } },
        ]),
      );
      expect(pod.serviceAccountName).toBe(ingress.serviceAccountName);
    },
  );

  it('may do what it needs, in its namespace; only its CronJob has a token', async () => {
    const manifests = await render(helm, 'spool');
    const role = find(manifests, 'Role', 'pay-hookline-spool-drain') as Manifest & { rules: object[] };
    expect(role.rules).toEqual([
      ...['statefulsets', 'cronjobs'].map((resource) => ({
        apiGroups: [resource === 'statefulsets' ? 'apps' : 'batch'],
        resources: [resource],
        resourceNames: [resource === 'statefulsets' ? 'pay-hookline-ingress' : 'pay-hookline-spool-drain'],
        verbs: ['get'],
      })),
      { apiGroups: [''], resources: ['persistentvolumeclaims', 'pods'], verbs: ['list'] },
      { apiGroups: ['batch'], resources: ['jobs'], verbs: ['list', 'get', 'create', 'delete'] },
    ]);
    const withToken = podsOf(manifests).filter(({ pod }) =>
      JSON.stringify(pod.volumes ?? []).includes('kube-root-ca.crt'),
    );
    expect(withToken.map(({ owner }) => owner.metadata.name)).toEqual(['pay-hookline-spool-drain']);
    const ports = policyOf(
      await render(helm, 'spool', ...set('networkPolicy.egress.enabled=true')),
      'spool-drain',
    ).spec.egress.flatMap((rule: { ports: { port: number }[] }) => rule.ports.map(({ port }) => port));
    expect(ports).toEqual(expect.arrayContaining([53, 443, 6443, 9092, 8081]));
  });
});

describe('verify', () => {
  it('is off by default', async () => {
    const manifests = await render(helm, 'minimal');
    expect(names(manifests, 'verify')).toEqual([]);
    expect(JSON.stringify(podsOf(manifests))).not.toContain('hookline-probe');
  });

  it('sends its probe to ingress, and has the keys that ingress has, and nobody else', async () => {
    const manifests = await render(helm, 'spool');
    const variables = variablesOf(manifests, 'pay-hookline-verify');
    expect(variables).toMatchObject({
      SECRETS_DIR: '/etc/hookline/probe',
      VERIFY_URL: 'http://pay-hookline-ingress:80',
      PROMETHEUS_URL: 'http://prometheus.monitoring:9090',
      PROMETHEUS_MATCH: 'namespace="payments",service="pay-hookline-ingress-metrics"',
    });
    expect(variables).not.toHaveProperty('VERIFY_TARGETS');
    expect(variables).not.toHaveProperty('SEALING_KEY_FILE');
    const pod = podOf(manifests, 'pay-hookline-verify');
    expect(pod.containers[0]?.args).toEqual([
      'src/cli/main.ts',
      'verify',
      '--timeout',
      '30',
      '--since',
      '1h',
    ]);
    expect(pod.containers[0]?.volumeMounts).toContainEqual({
      name: 'probe',
      mountPath: '/etc/hookline/probe/hookline-probe',
      readOnly: true,
    });
    expect(keysOf(manifests, 'pay-hookline-ingress')).toContain('hookline-probe/signing-secret');
    const full = await render(helm, 'full');
    expect(keysOf(full, 'pay-hookline-ingress')).toContain('hookline-probe/signing-secret');
    expect(keysOf(full, 'pay-hookline-control')).not.toContain('hookline-probe');
  });

  it('reads the pods where there is no Prometheus, trusts what it is given, and may connect to all of it', async () => {
    const manifests = await render(helm, 'full');
    expect(variablesOf(manifests, 'pay-hookline-verify')).toMatchObject({
      VERIFY_URL: 'https://hooks.example.org:8444/receive',
      VERIFY_TARGETS: 'http://pay-hookline-ingress-metrics:9464',
      VERIFY_CA_FILE: '/etc/hookline/verify-ca/ca.crt',
      VERIFY_CERT_FILE: '/etc/hookline/verify-user/tls.crt',
      KAFKA_USERNAME: 'hookline-verify',
    });
    const { egress } = policyOf(manifests, 'verify').spec;
    const ports = egress.flatMap((rule: { ports: { port: number }[] }) => rule.ports.map(({ port }) => port));
    expect(ports).toEqual(expect.arrayContaining([9093, 8443, 8444, 9464]));
    const from = policyOf(manifests, 'ingress').spec.ingress.at(-1).from;
    expect(JSON.stringify(from)).toContain('"app.kubernetes.io/component":"verify"');
  });

  it.each([
    ['minimal', ['verify.enabled=true'], 'verify.secret is needed'],
    ['spool', ['ingress.tls.secret=tls'], 'verify.url is needed with ingress.tls.secret'],
    ['spool', ['subscriptions[0].ref=hookline-probe'], 'subscriptions must not have the ref hookline-probe'],
    ['spool', ['ingress.spool.drain.mode=sometimes'], 'mode'],
  ])('of %s with %j is refused', async (values, sets, why) => {
    expect((await helmTemplate(helm, '-f', valuesFile(values), ...set(...sets))).error).toContain(why);
  });
});
