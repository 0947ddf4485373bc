import { describe, expect, inject, it } from 'vitest';
import { readWanted } from '../../../src/cli/subscriptions/read-wanted.ts';
import { DEFAULT_DIALECT } from '../../../src/provider/dialect.ts';
import { find, type Manifest, podsOf, render } from './render.ts';

const helm = inject('helm');
const JOB = 'pay-hookline-subscriptions';
const LABEL = 'hookline/configuration';
const set = (...values: string[]) => values.flatMap((value) => ['--set', value]);

const jobOf = (manifests: readonly Manifest[]) => find(manifests, 'Job', JOB);
const podOf = (manifests: readonly Manifest[], name: string) =>
  podsOf(manifests).find(({ owner }) => owner.metadata.name === name)?.pod ?? expect.fail(`no ${name}`);
const variablesOf = (manifests: readonly Manifest[]) =>
  Object.fromEntries(
    podOf(manifests, JOB).containers.flatMap(({ env = [] }) => env.map(({ name, value }) => [name, value])),
  );

describe('subscriptions as code', () => {
  it('are a file that the command line tool reads', async () => {
    const file = find(await render(helm, 'gitops'), 'ConfigMap', JOB).data?.['subscriptions.yaml'] ?? '';
    expect(readWanted('subscriptions.yaml', file, DEFAULT_DIALECT)).toMatchObject({
      wanted: {
        topic: undefined,
        subscriptions: [
          { ref: 'ledger-eu', events: ['accounts-entries', 'payment-status'] },
          { ref: 'analytics', events: ['collection-status'], extra: { description: 'two figures a day' } },
        ],
      },
    });
  });

  it('as text have the refs as they are written, whatever YAML 1.1 makes of them', async () => {
    const text =
      '  subscriptions:\n    no: { events: [payment_status] }\n    0123: { events: [payment_status] }\n';
    const content = ['--set-json', `subscriptionsAsCode.content=${JSON.stringify(text)}`];
    const file = find(await render(helm, 'gitops', ...content), 'ConfigMap', JOB).data?.[
      'subscriptions.yaml'
    ];
    expect(file).toBe(text);
    expect(readWanted('subscriptions.yaml', text, DEFAULT_DIALECT)).toMatchObject({
      wanted: { subscriptions: [{ ref: 'no' }, { ref: '0123' }] },
    });
  });

  it('can be a map of the values', async () => {
    const manifests = await render(helm, 'minimal', ...set(...FILE, ...MANY));
    const file = find(manifests, 'ConfigMap', JOB).data?.['subscriptions.yaml'] ?? '';
    expect(readWanted('subscriptions.yaml', file, DEFAULT_DIALECT)).toMatchObject({
      wanted: { subscriptions: [{ ref: '7eleven' }, { ref: 'eu' }, { ref: 'norway' }] },
    });
  });

  it('are applied after the release, by a job that stays when it fails and says why', async () => {
    const { metadata, spec } = jobOf(await render(helm, 'gitops'));
    expect(metadata.annotations).toEqual({
      'helm.sh/hook': 'post-install,post-upgrade',
      'helm.sh/hook-output-log-policy': 'hook-failed',
      'helm.sh/hook-delete-policy': 'before-hook-creation,hook-succeeded',
    });
    expect(spec.podFailurePolicy.rules).toEqual([
      {
        action: 'FailJob',
        onExitCodes: { containerName: 'subscriptions', operator: 'In', values: [2] },
      },
    ]);
  });

  it.each([
    [['onDrift=fail'], ['--fail-on-drift']],
    [['onDrift=repair'], []],
    [['onDrift=repair', 'delete=true'], ['--delete']],
  ])('with %j have the arguments %j', async (values, more) => {
    const sets = set(...values.map((value) => `subscriptionsAsCode.${value}`));
    const [{ args } = {} as never] = podOf(await render(helm, 'gitops', ...sets), JOB).containers;
    const file = '/etc/hookline/subscriptions-as-code/subscriptions.yaml';
    expect(args).toEqual([
      ...['src/cli/main.ts', 'subscriptions', 'apply', '--file', file, '--timeout', '60'],
      ...more,
    ]);
  });

  it('come from an existing ConfigMap instead', async () => {
    const sets = set('subscriptionsAsCode.content=null', 'subscriptionsAsCode.configMap=ours');
    const manifests = await render(helm, 'gitops', ...sets);
    expect(manifests.some(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === JOB)).toBe(false);
    expect(podOf(manifests, JOB).volumes).toContainEqual({
      name: 'subscriptions-as-code',
      configMap: { name: 'ours' },
    });
  });

  it('wait until the pods of control have the configuration of the release', async () => {
    const manifests = await render(helm, 'gitops');
    const { selector } = find(manifests, 'Service', 'pay-hookline-control-current').spec;
    const { labels } = find(manifests, 'Deployment', 'pay-hookline-control').spec.template.metadata;
    expect(labels).toMatchObject(selector);
    const changed = await render(helm, 'gitops', ...set('publicUrl=https://hooks.example.net'));
    expect(find(changed, 'Service', 'pay-hookline-control-current').spec.selector[LABEL]).not.toBe(
      selector[LABEL],
    );
    // Without the job the pods have no label that changes.
    const without = await render(helm, 'minimal');
    const pod = find(without, 'Deployment', 'pay-hookline-control').spec.template;
    expect(pod.metadata.labels).not.toHaveProperty([LABEL]);
  });

  it('are sent by the user of control, or by one of their own, without the keys of a process', async () => {
    const manifests = await render(helm, 'oauth', ...set(...FILE));
    expect(variablesOf(manifests)).toMatchObject({ KAFKA_OAUTH_CLIENT_ID: 'hookline-control' });
    expect(variablesOf(manifests)).not.toHaveProperty('SEALING_KEY_FILE');
    const user = 'kafka.credentials.subscriptions';
    const own = set(...FILE, `${user}.oauthClientId=gitops`, `${user}.oauthSecret=gitops`);
    const other = await render(helm, 'oauth', ...own);
    expect(variablesOf(other)).toMatchObject({ KAFKA_OAUTH_CLIENT_ID: 'gitops' });
    const byToken = await render(helm, 'tokens', ...set(...FILE));
    expect(podOf(byToken, JOB).serviceAccountName).toBe(JOB);
    find(byToken, 'ServiceAccount', JOB);
    expect(variablesOf(byToken)).toHaveProperty('KAFKA_OAUTH_TOKEN_FILE');
  });

  it('are reached by nobody, and reach brokers and registry', async () => {
    const { spec } = find(await render(helm, 'gitops'), 'NetworkPolicy', JOB);
    const ports = spec.egress.flatMap((rule: { ports: { port: number }[] }) =>
      rule.ports.map(({ port }) => port),
    );
    expect([spec.ingress, ports]).toEqual([[], [53, 53, 9092, 8081]]);
  });
});

describe('further objects', () => {
  it('are templates, as manifests and as strings', async () => {
    const manifests = await render(helm, 'gitops');
    expect(find(manifests, 'ConfigMap', 'pay-hookline-note').data).toEqual({ note: 'of pay' });
    expect(find(manifests, 'ConfigMap', 'pay-hookline-ports').data).toEqual({ brokers: 'kafka:9092' });
  });
});

const FILE = [
  'subscriptionsAsCode.enabled=true',
  'subscriptionsAsCode.content.subscriptions.eu.events={payment_status}',
];

/** Refs that only begin like a number or a truth value. */
const MANY = ['7eleven', 'norway'].map(
  (ref) => `subscriptionsAsCode.content.subscriptions.${ref}.events={payment_status}`,
);
