import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { subscriptionsOf } from '../faults/traffic/webhooks.ts';
import { freePorts } from '../stack/plan-ports.ts';
import { changePassword } from '../support/secure/change-password.ts';
import { startTokenRegistry } from '../support/secure/secure-registry.ts';
import { postSigned } from '../support/sign.ts';
import { until } from '../support/until.ts';
import { forward } from './support/forward.ts';
import { apply } from './support/kubectl.ts';
import { secret } from './support/objects.ts';
import { Release, SEED } from './support/release.ts';

const REF = 'ledger-eu';
const USER = 'hookline';
const FOLDER = '/mnt/secrets';
const NOTHING_WRONG = { lost: 0, orderViolations: 0, altered: 0, wronglyStored: 0, late: 0 };
/** What Kubernetes takes to bring a changed file into a pod, and Hookline to read it. */
const RENEWED_MS = 150_000;
const PROBE = { subscriptionId: randomUUID(), signingSecret: randomUUID() };

/** By path below the folder. */
type Files = Readonly<Record<string, string>>;

const ways = new AsyncDisposableStack();
const registryPasswords = new Set<string>();
let release: Release;
let broker: string;
let files: Files;

const basic = (password: string) => `Basic ${Buffer.from(`${USER}:${password}`).toString('base64')}`;

beforeAll(async () => {
  const host = inject('hostAddress');
  const [port = 0] = await freePorts(1);
  broker = `${host}:${port}`;
  const kafkaPassword = randomUUID();
  const registryPassword = randomUUID();
  registryPasswords.add(basic(registryPassword));
  ways.use(await forward(host, port, port));
  const scram = 'org.apache.kafka.common.security.scram.ScramLoginModule required;';
  release = ways.use(
    await Release.make(
      {
        helm: inject('helm'),
        image: inject('image'),
        sandboxImage: inject('sandboxImage'),
        nodeAddress: inject('nodeAddress'),
        hostAddress: host,
      },
      {
        kafka: {
          listeners: [{ name: 'USERS', port, protocol: 'SASL_PLAINTEXT', advertisedHost: host }],
          scramUsers: [{ mechanism: 'SCRAM-SHA-512', name: USER, password: kafkaPassword }],
          properties: {
            'listener.name.users.sasl.enabled.mechanisms': 'SCRAM-SHA-512',
            'listener.name.users.scram-sha-512.sasl.jaas.config': scram,
          },
        },
        registry: (url) =>
          startTokenRegistry(url, {
            takes: async (authorization = '') => registryPasswords.has(authorization),
          }),
      },
    ),
  );
  const folders = [
    ...subscriptionsOf(SEED).map(({ ref, subscriptionId, signingSecret, encryptionKey }) => ({
      [`subscriptions/${ref}/subscription-id`]: subscriptionId,
      [`subscriptions/${ref}/signing-secret`]: signingSecret,
      [`subscriptions/${ref}/encryption-key`]: encryptionKey,
    })),
    {
      'subscriptions/hookline-probe/subscription-id': PROBE.subscriptionId,
      'subscriptions/hookline-probe/signing-secret': PROBE.signingSecret,
    },
  ];
  files = Object.assign(
    {
      'kafka-password': kafkaPassword,
      'registry-password': registryPassword,
      'sealing-key': randomBytes(32).toString('hex'),
      jwt: 'sandbox-lite-jwt',
    },
    ...folders,
  );
});

afterAll(() => ways.disposeAsync());

/** The keys of a Secret have no slashes. */
const keyOf = (path: string) => path.replaceAll('/', '.');

/** In place of what an agent or a driver of volumes does: the files of a volume that the chart knows nothing of. */
async function deliver(changed: Files = {}): Promise<void> {
  files = { ...files, ...changed };
  const data = Object.fromEntries(Object.entries(files).map(([path, content]) => [keyOf(path), content]));
  await apply(secret(release.namespace, 'files', data));
}

const extra = () => ({
  extraVolumes: [
    {
      name: 'secrets',
      projected: {
        defaultMode: 0o440,
        sources: [
          {
            secret: { name: 'files', items: Object.keys(files).map((path) => ({ key: keyOf(path), path })) },
          },
        ],
      },
    },
  ],
  extraVolumeMounts: [{ name: 'secrets', mountPath: FOLDER, readOnly: true }],
});

/** @param from the folder, or a Secret */
const values = (from: string) => {
  const user = { username: USER, passwordSecret: from };
  return {
    kafka: {
      brokers: [broker],
      sasl: { mechanism: 'SCRAM-SHA-512', passwordKey: 'kafka-password' },
      credentials: { ingress: user, control: user, setup: user, verify: user },
    },
    schemaRegistry: {
      url: release.registryUrl,
      username: USER,
      passwordSecret: from,
      passwordKey: 'registry-password',
    },
    sealingKey: { secret: from },
    provider: {
      authUrl: 'http://sandbox:8090',
      baseUrl: 'http://sandbox:8090',
      scope: 'accounts.read transactions.read',
      jwtSecret: from,
    },
    control: {},
    verify: { enabled: true, schedule: '0 0 1 1 *' },
  };
};

const fromFiles = () => ({
  ...values(FOLDER),
  subscriptions: [],
  subscriptionsDir: `${FOLDER}/subscriptions`,
  ingress: { service: { type: 'NodePort' }, ...extra() },
  control: extra(),
  jobs: extra(),
});

const fromSecrets = () => ({
  ...values('files'),
  verify: { enabled: true, schedule: '0 0 1 1 *', secret: 'probe' },
});

/** By both pods, as the Service chooses one for each connection; into a topic that the load does not use. */
async function statusesOf(signingSecret: string): Promise<number[]> {
  const url = `${await release.url()}/webhooks/${REF}`;
  const keys = { subscriptionId: release.subscription(REF).subscriptionId, signingSecret };
  const body = () => JSON.stringify({ type: 'collection-status', entityId: randomUUID() });
  const posts = Array.from({ length: 20 }, () => postSigned(url, keys, body(), { connection: 'close' }));
  return [...new Set((await Promise.all(posts)).map(({ status }) => status))];
}

type Pods = {
  items: { metadata: { name: string }; status: { containerStatuses?: { restartCount: number }[] } }[];
};

/** Every pod of the processes, with how often it was started again. */
async function starts(): Promise<Record<string, number | undefined>> {
  const selector = 'app.kubernetes.io/component in (ingress,control)';
  const { items } = await release.json<Pods>('get', 'pods', '-l', selector);
  return Object.fromEntries(
    items.map(({ metadata, status }) => [metadata.name, status.containerStatuses?.[0]?.restartCount]),
  );
}

async function verify(name: string): Promise<string> {
  await release.kubectl('create', 'job', name, '--from=cronjob/pay-hookline-verify');
  const done = release.kubectl('wait', `job/${name}`, '--for=condition=Complete', '--timeout=120s');
  const logs = () => release.kubectl('logs', `job/${name}`);
  return done.then(logs, async (error) => {
    throw new Error(await logs(), { cause: error });
  });
}

/** One that ends while `verify` reads its counters cannot be checked. */
const oldPodsAreGone = () =>
  until('the old pods are gone', async () => (await release.pods('ingress')).length === 2, 60_000);

describe('on a cluster, with secrets from files that the chart does not mount', () => {
  it('helm install waits for files that come late; jobs and processes have theirs', async () => {
    const installed = release.install(fromFiles());
    await Promise.race([installed, sleep(10_000)]);
    await deliver();
    await installed;
    expect(Object.values(await starts()), 'two of ingress, one of control').toEqual([0, 0, 0]);
    expect(await statusesOf(release.subscription(REF).signingSecret)).toEqual([200]);
  });

  it('helm test and verify pass', async () => {
    expect(await release.helm('test', release.name)).toMatch(/Phase:\s+Succeeded/);
    expect(await verify('verify-files')).toContain('Verdict: well.');
  });

  it('changed keys and passwords are used without a restart', async () => {
    const before = await starts();
    const next = randomUUID();
    const { signingSecret: old } = release.subscription(REF);
    const kafkaPassword = randomUUID();
    const registryPassword = randomUUID();
    const registryPasswordBefore = files['registry-password'] ?? '';
    registryPasswords.add(basic(registryPassword));
    await deliver({
      [`subscriptions/${REF}/signing-secret`]: `${next}\n${old}`,
      'kafka-password': kafkaPassword,
      'registry-password': registryPassword,
    });
    await until(
      'both pods know the new key',
      async () => (await statusesOf(next)).join() === '200',
      RENEWED_MS,
    );
    // Kubernetes renews the files of each pod when it likes.
    const ofControl = ['exec', 'deploy/pay-hookline-control', '--', 'cat', `${FOLDER}/kafka-password`];
    const isRenewed = async () => (await release.kubectl(...ofControl)) === kafkaPassword;
    await until('the pod of control has the new passwords', isRenewed, RENEWED_MS);
    registryPasswords.delete(basic(registryPasswordBefore));
    await changePassword(release.stack.brokers[0] ?? '', USER, kafkaPassword);
    expect(await release.hookline('doctor')).not.toContain('FAULT');
    const verdict = await release.underLoad(() => sleep(2_000));
    expect(Object.keys(verdict.statuses)).toEqual(['200']);
    expect(verdict).toMatchObject(NOTHING_WRONG);
    expect(await starts()).toEqual(before);
  });

  it('upgrades from files to Secrets and back, and rollbacks, answer every webhook with 200', async () => {
    await apply(
      secret(release.namespace, 'probe', {
        'subscription-id': PROBE.subscriptionId,
        'signing-secret': PROBE.signingSecret,
      }),
    );
    const verdict = await release.underLoad(async () => {
      await release.install(fromSecrets());
      await oldPodsAreGone();
      expect(await verify('verify-secrets')).toContain('Verdict: well.');
      await release.install(fromFiles());
      await release.helm('rollback', release.name, '--wait', '--timeout', '180s');
      expect(await release.kubectl('get', 'deployments', '-o', 'yaml')).not.toContain(FOLDER);
      await release.helm('rollback', release.name, '--wait', '--timeout', '180s');
      expect(await release.kubectl('get', 'deployments', '-o', 'yaml')).toContain(FOLDER);
      await oldPodsAreGone();
    });
    console.log(`files: ${verdict.acked} webhooks, longest ${Math.round(verdict.longestAnswerMs)} ms`);
    expect(Object.keys(verdict.statuses)).toEqual(['200']);
    expect(verdict.errors).toEqual({});
    expect(verdict).toMatchObject(NOTHING_WRONG);
    expect(verdict.acked).toBeGreaterThan(500);
  });
});
