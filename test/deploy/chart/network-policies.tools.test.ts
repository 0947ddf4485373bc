import { describe, expect, inject, it } from 'vitest';
import { COMPONENT, type Manifest, podsOf, policyOf, render } from './render.ts';

const helm = inject('helm');

describe('the network policies of the chart', () => {
  it('limits by default who may connect to each workload, the jobs and the tests included', async () => {
    const manifests = await render(helm, 'minimal');
    for (const component of new Set(componentsOf(manifests))) {
      const policy = policyOf(manifests, component);
      expect(policy.spec.policyTypes, component).toEqual(['Ingress']);
      expect(policy.spec, component).not.toHaveProperty('egress');
      expect(policy.spec.podSelector.matchLabels, component).toMatchObject({
        'app.kubernetes.io/instance': 'pay',
        'app.kubernetes.io/component': component,
      });
    }
    const open = (component: string) =>
      policyOf(manifests, component).spec.ingress.flatMap((rule: { ports: { port: string }[] }) =>
        rule.ports.map(({ port }) => port),
      );
    expect([open('ingress'), open('control'), open('setup'), open('test')]).toEqual([
      ['webhooks', 'metrics'],
      ['metrics'],
      [],
      [],
    ]);
  });

  it('makes the policy of a hook before the pods of that hook', async () => {
    const manifests = await render(helm, 'minimal');
    const hook = 'helm.sh/hook';
    const weight = 'helm.sh/hook-weight';
    for (const [component, kind] of [
      ['setup', 'Job'],
      ['test', 'Pod'],
    ] as const) {
      const { annotations: policy = {} } = policyOf(manifests, component).metadata;
      for (const { metadata } of manifests.filter((one) => one.kind === kind)) {
        expect(policy[hook]).toBe(metadata.annotations?.[hook]);
        expect(Number(policy[weight])).toBeLessThan(Number(metadata.annotations?.[weight] ?? 0));
      }
    }
  });

  it('limits on request what each workload may connect to', async () => {
    const manifests = await render(helm, 'full');
    const ports = (component: string) =>
      policyOf(manifests, component)
        .spec.egress.flatMap((rule: { ports: { port: number }[] }) => rule.ports.map(({ port }) => port))
        .sort((a: number, b: number) => a - b);
    const dns = [53, 53];
    const kafka = [9093, 9094];
    const registry = [8443];
    const provider = [443];
    const collector = [4318];
    const objects = [9443];
    const sts = [443];
    expect(ports('ingress')).toEqual([...dns, ...sts, ...collector, ...registry, ...kafka, ...objects]);
    expect(ports('control')).toEqual([...dns, ...provider, ...registry, ...kafka, ...objects]);
    expect(ports('setup')).toEqual([...dns, ...registry, ...kafka]);
    const login = [443];
    const prometheus = [9090];
    const metrics = [9464];
    expect(ports('console')).toEqual(
      [...dns, ...login, ...prometheus, ...metrics, ...registry, ...kafka, ...objects].sort((a, b) => a - b),
    );
    const restricted = policyOf(manifests, 'ingress').spec.ingress.at(-1).from;
    for (const component of ['test', 'verify', 'console'])
      expect(restricted).toContainEqual({
        podSelector: {
          matchLabels: expect.objectContaining({ 'app.kubernetes.io/component': component }),
        },
      });
    expect(restricted).toHaveLength(4);
  });

  it.each<[string, string[], number]>([
    ['its address', ['proxy.https=http://proxy:3128'], 3128],
    ['a Secret with its address', ['proxy.httpsSecret=proxy', 'proxy.port=8888'], 8888],
  ])('lets every pod reach the proxy by %s', async (_, sets, port) => {
    const flags = [...sets, 'networkPolicy.egress.enabled=true'].flatMap((one) => ['--set', one]);
    const manifests = await render(helm, 'minimal', ...flags);
    for (const component of new Set(componentsOf(manifests))) {
      const rules: { ports: { port: number }[] }[] = policyOf(manifests, component).spec.egress;
      expect(rules.flatMap(({ ports }) => ports.map((one) => one.port))).toContain(port);
    }
  });

  it("lets pods reach the store at the port of AWS's own variable", async () => {
    const flags = [
      ...['bodyStore.address=s3://events', 'bodyStore.credentialsFrom=webIdentity'],
      ...['ingress.settings.AWS_ENDPOINT_URL_S3=https://store:9000', 'networkPolicy.egress.enabled=true'],
      'ingress.settings.AWS_ENDPOINT_URL_STS=https://sts:7480',
    ];
    const manifests = await render(helm, 'minimal', ...flags.flatMap((one) => ['--set', one]));
    const rules: { ports: { port: number }[] }[] = policyOf(manifests, 'ingress').spec.egress;
    const ports = rules.flatMap((rule) => rule.ports.map(({ port }) => port));
    expect(ports).toEqual(expect.arrayContaining([9000, 7480]));
    expect(ports).not.toContain(443);
  });

  it.each<[string, string[], { sts: boolean; addresses: string[] }]>([
    ['a Secret', ['bodyStore.credentialsSecret=s3'], { sts: false, addresses: [] }],
    [
      'a role of its own',
      ['bodyStore.webIdentity.roleArn=arn:aws:iam::1:role/h'],
      { sts: true, addresses: [] },
    ],
    [
      'a role of the service account',
      ['serviceAccount.annotations.eks\\.amazonaws\\.com/role-arn=arn:aws:iam::1:role/h'],
      { sts: true, addresses: [] },
    ],
    ['a web identity', ['bodyStore.credentialsFrom=webIdentity'], { sts: true, addresses: [] }],
    [
      'EKS Pod Identity',
      ['bodyStore.credentialsFrom=podIdentity'],
      { sts: false, addresses: ['169.254.170.23/32', 'fd00:ec2::23/128'] },
    ],
    [
      'the container',
      ['bodyStore.credentialsFrom=container'],
      { sts: false, addresses: ['169.254.170.2/32'] },
    ],
    [
      'the instance',
      ['bodyStore.credentialsFrom=instance'],
      { sts: false, addresses: ['169.254.169.254/32', 'fd00:ec2::254/128'] },
    ],
  ])(
    'lets pods reach where credentials of %s come from, and nothing more',
    async (_, sets, { sts, addresses }) => {
      const store = ['bodyStore.address=s3://events', 'bodyStore.endpoint=https://minio.example:9000'];
      const flags = [
        ...store,
        ...sets,
        'networkPolicy.egress.enabled=true',
        'provider.authUrl=https://auth:8444',
      ];
      const set = [...flags, 'provider.baseUrl=https://api:8444'].flatMap((one) => ['--set', one]);
      const manifests = await render(helm, 'minimal', ...set);
      type Rule = { ports: { port: number }[]; to?: { ipBlock: { cidr: string } }[] };
      const waysOf = (component: string) => {
        const rules: Rule[] = policyOf(manifests, component).spec.egress;
        const restricted = rules.filter(({ to }) => to);
        const open = rules.filter(({ to }) => !to);
        return {
          sts: open.some(({ ports }) => ports.some(({ port }) => port === 443)),
          addresses: restricted.flatMap(({ to = [] }) => to.map(({ ipBlock }) => ipBlock.cidr)),
          ports: restricted.flatMap(({ ports }) => ports.map(({ port }) => port)),
        };
      };
      const ports = addresses.length > 0 ? [80] : [];
      for (const component of ['ingress', 'control', 'test'])
        expect(waysOf(component), component).toEqual({ sts, addresses, ports });
      expect(waysOf('setup')).toEqual({ sts: false, addresses: [], ports: [] });
    },
  );

  it('has no NetworkPolicy where the cluster has its own', async () => {
    const manifests = await render(helm, 'minimal', '--set', 'networkPolicy.enabled=false');
    expect(manifests.filter(({ kind }) => kind === 'NetworkPolicy')).toEqual([]);
  });
});

/** The component of each pod that the manifests make. */
const componentsOf = (manifests: readonly Manifest[]): string[] =>
  podsOf(manifests).map(
    ({ owner }) => (owner.spec.template?.metadata ?? owner.metadata).labels[COMPONENT] as string,
  );
