import { describe, expect, inject, it } from 'vitest';
import {
  environmentOf,
  find,
  helmTemplate,
  type Manifest,
  type PodSpec,
  podsOf,
  render,
  valuesFile,
} from './render.ts';

const helm = inject('helm');

const MINE = /^(KAFKA_(SASL|OAUTH|AWS)_|SCHEMA_REGISTRY_(OAUTH|TOKEN|HEADERS|CERT|KEY)|PROVIDER_(CERT|KEY)_)/;
const NAMES = { ingress: 'pay-hookline-ingress', control: 'pay-hookline-control' };

const podOf = (manifests: readonly Manifest[], name: string): PodSpec => {
  const found = podsOf(manifests).find(({ owner }) => owner.metadata.name === name);
  return found?.pod ?? expect.fail(`no pod of ${name}`);
};

/** What a pod is told about identity. */
function identityOf(manifests: readonly Manifest[], name: string): Record<string, string> {
  const variables = Object.entries(environmentOf(manifests, name));
  return Object.fromEntries(variables.filter(([variable]) => MINE.test(variable)));
}

const volumesOf = (manifests: readonly Manifest[], name: string) => podOf(manifests, name).volumes ?? [];
const secretOf = (manifests: readonly Manifest[], name: string, volume: string) =>
  volumesOf(manifests, name).find((one) => one.name === volume)?.secret?.secretName;

describe('by client credentials', () => {
  it.each([
    ['pay-hookline-ingress', 'hookline-ingress'],
    ['pay-hookline-control', 'hookline-control'],
    ['pay-hookline-topics', 'hookline-setup'],
  ])('%s is the client %s, with its own Secret', async (name, client) => {
    const manifests = await render(helm, 'oauth');
    expect(identityOf(manifests, name)).toMatchObject({
      KAFKA_SASL_MECHANISM: 'OAUTHBEARER',
      KAFKA_OAUTH_TOKEN_URL: 'https://login.example.org:8443/oauth2/token',
      KAFKA_OAUTH_CLIENT_ID: client,
      KAFKA_OAUTH_CLIENT_SECRET_FILE: '/etc/hookline/kafka-oauth/client-secret',
      KAFKA_OAUTH_SCOPE: 'kafka',
      KAFKA_OAUTH_CA_FILE: '/etc/hookline/kafka-oauth-ca/ca.crt',
      KAFKA_OAUTH_EXTENSIONS: 'identityPoolId=pool-1,logicalCluster=lkc-1',
      SCHEMA_REGISTRY_OAUTH_TOKEN_URL: 'https://login.example.org:8444/oauth2/token',
      SCHEMA_REGISTRY_OAUTH_CLIENT_ID: 'hookline',
      SCHEMA_REGISTRY_OAUTH_CLIENT_SECRET_FILE: '/etc/hookline/registry-oauth/client-secret',
      SCHEMA_REGISTRY_OAUTH_SCOPE: 'registry',
      SCHEMA_REGISTRY_OAUTH_CA_FILE: '/etc/hookline/registry-oauth-ca/ca.crt',
      SCHEMA_REGISTRY_HEADERS: 'Confluent-Identity-Pool-Id=pool-1,target-sr-cluster=lsrc-1',
      SCHEMA_REGISTRY_CERT_FILE: '/etc/hookline/registry-user/tls.crt',
      SCHEMA_REGISTRY_KEY_FILE: '/etc/hookline/registry-user/tls.key',
    });
    expect(secretOf(manifests, name, 'kafka-oauth')).toBe(`${client}-oauth`);
    expect(secretOf(manifests, name, 'registry-oauth')).toBe('hookline-registry-oauth');
  });

  it('the client certificate for the provider is in control alone', async () => {
    const manifests = await render(helm, 'oauth');
    const certificates = Object.values(NAMES).map((name) => identityOf(manifests, name).PROVIDER_CERT_FILE);
    expect(certificates).toEqual([undefined, '/etc/hookline/provider-user/tls.crt']);
    expect(secretOf(manifests, NAMES.control, 'provider-user')).toBe('hookline-provider-tls');
  });

  it('the ports of the token endpoints are open, to every workload', async () => {
    const manifests = await render(helm, 'oauth');
    for (const component of ['ingress', 'control', 'setup', 'test']) {
      const { spec } = find(manifests, 'NetworkPolicy', `pay-hookline-${component}`);
      const ports = JSON.stringify(spec.egress);
      expect([ports.includes('8443'), ports.includes('8444')], component).toEqual([true, true]);
    }
  });
});

describe('by tokens of service accounts', () => {
  it.each([
    ['pay-hookline-ingress', 'pay-hookline-ingress'],
    ['pay-hookline-control', 'pay-hookline-control'],
    ['pay-hookline-topics', 'pay-hookline-setup'],
    ['pay-hookline-schemas', 'pay-hookline-setup'],
    ['pay-hookline-test-doctor', 'pay-hookline-control'],
  ])('%s is the service account %s, and reads tokens that Kubernetes renews', async (name, account) => {
    const manifests = await render(helm, 'tokens');
    const { serviceAccountName = '' } = podOf(manifests, name);
    expect(serviceAccountName).toBe(account);
    find(manifests, 'ServiceAccount', serviceAccountName);
    expect(identityOf(manifests, name)).toEqual({
      KAFKA_SASL_MECHANISM: 'OAUTHBEARER',
      KAFKA_OAUTH_TOKEN_FILE: '/etc/hookline/kafka-token/token',
      SCHEMA_REGISTRY_TOKEN_FILE: '/etc/hookline/registry-token/token',
    });
    const projected = volumesOf(manifests, name).flatMap((one) => one.projected?.sources ?? []);
    expect(projected).toEqual([
      { serviceAccountToken: { path: 'token', audience: 'kafka', expirationSeconds: 600 } },
      { serviceAccountToken: { path: 'token', audience: 'registry', expirationSeconds: 3600 } },
    ]);
  });

  it('the service account of the setup jobs is made before them, and the others with the release', async () => {
    const manifests = await render(helm, 'tokens');
    const annotationsOf = (name: string) => find(manifests, 'ServiceAccount', name).metadata.annotations;
    expect(annotationsOf('pay-hookline-setup')).toEqual({
      'example.org/team': 'payments',
      'example.org/rights': 'topics',
      'helm.sh/hook': 'pre-install,pre-upgrade',
      'helm.sh/hook-weight': '-20',
      'helm.sh/hook-delete-policy': 'before-hook-creation,hook-succeeded',
    });
    expect(annotationsOf('pay-hookline-ingress')).toEqual({ 'example.org/team': 'payments' });
  });

  it('without one for each process, the processes share one and the jobs have the default of the namespace', async () => {
    const manifests = await render(helm, 'tokens', '--set', 'serviceAccount.perProcess=false');
    expect(podOf(manifests, NAMES.ingress).serviceAccountName).toBe('pay-hookline');
    expect(podOf(manifests, NAMES.control).serviceAccountName).toBe('pay-hookline');
    expect(podOf(manifests, 'pay-hookline-topics')).not.toHaveProperty('serviceAccountName');
  });

  it('existing service accounts are used by name', async () => {
    const sets = ['--set', 'serviceAccount.create=false', '--set', 'serviceAccount.name=connector'];
    const manifests = await render(helm, 'tokens', ...sets);
    expect(manifests.filter(({ kind }) => kind === 'ServiceAccount')).toEqual([]);
    expect(podOf(manifests, NAMES.ingress).serviceAccountName).toBe('connector-ingress');
    expect(podOf(manifests, 'pay-hookline-topics').serviceAccountName).toBe('connector-setup');
  });
});

describe('by AWS credentials', () => {
  const MSK = ['kafka.sasl.mechanism=AWS_MSK_IAM', 'kafka.sasl.awsRegion=eu-central-1'];
  const sets = [...MSK, 'kafka.tls.enabled=true', 'networkPolicy.egress.enabled=true'];

  it('each process knows the region, needs no user, and reaches the token service', async () => {
    const manifests = await render(helm, 'minimal', ...sets.flatMap((set) => ['--set', set]));
    for (const name of [...Object.values(NAMES), 'pay-hookline-topics'])
      expect(identityOf(manifests, name)).toEqual({
        KAFKA_SASL_MECHANISM: 'AWS_MSK_IAM',
        KAFKA_AWS_REGION: 'eu-central-1',
      });
    const { spec } = find(manifests, 'NetworkPolicy', 'pay-hookline-setup');
    expect(JSON.stringify(spec.egress)).toContain('443');
  });
});

it('verify has annotations of its own, and names of digits are text', async () => {
  const of = 'serviceAccount.processAnnotations.verify.eks\\.amazonaws\\.com/role-arn=arn:aws:iam::1:role/v';
  const sets = ['verify.enabled=true', 'verify.secret=probe', 'serviceAccount.perProcess=true', of];
  const args = sets.flatMap((one) => ['--set', one]);
  const manifests = await render(helm, 'minimal', ...args);
  const account = find(manifests, 'ServiceAccount', 'pay-hookline-verify');
  expect(account.metadata.annotations).toEqual({ 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/v' });
  const { out } = await helmTemplate(helm, '-f', valuesFile('minimal'), '--namespace', '42');
  expect(out).not.toMatch(/(instance|namespace|value): \d+$/m);
});
