import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { rights } from '../deploy/examples/strimzi-rights.ts';
import { freePorts } from '../stack/plan-ports.ts';
import { startTokenRegistry } from '../support/secure/secure-registry.ts';
import { readTopic } from '../support/topic-reader.ts';
import { ClusterTokens, KAFKA_AUDIENCE, REGISTRY_AUDIENCE, rightsToSetUp } from './support/cluster-tokens.ts';
import { forward } from './support/forward.ts';
import { Release } from './support/release.ts';

/** Whose rights in the examples each service account is given; those of an operator suffice to send commands. */
const RIGHTS: Readonly<Record<string, string>> = {
  'hookline-ingress': 'pay-hookline-ingress',
  'hookline-control': 'pay-hookline-control',
  'hookline-operator': 'pay-hookline-subscriptions',
};
const SESSION_MS = 20_000;
const WANTED = {
  'ledger-eu': { events: ['payment_status', 'accounts-entries'] },
  analytics: { events: ['collection-status'] },
};
const RESULTS = 'payments.command-results';

type Subscription = Readonly<Record<string, unknown>> & { readonly url: string; readonly events: string[] };

const ways = new AsyncDisposableStack();
let release: Release;
let broker: string;
let seen = 0;

beforeAll(async () => {
  const hostAddress = inject('hostAddress');
  const [port = 0] = await freePorts(1);
  broker = `${hostAddress}:${port}`;
  const tokens = ways.use(await ClusterTokens.read());
  ways.use(await forward(hostAddress, port, port));
  release = ways.use(
    await Release.make(
      {
        helm: inject('helm'),
        image: inject('image'),
        sandboxImage: inject('sandboxImage'),
        nodeAddress: inject('nodeAddress'),
        hostAddress,
      },
      {
        kafka: tokens.kafka({ host: hostAddress, port, sessionMs: SESSION_MS }),
        registry: (url) => startTokenRegistry(url, tokens, () => void seen++),
      },
    ),
  );
  const subject = (account: string) => `User:system:serviceaccount:${release.namespace}:${account}`;
  const granted = rights().flatMap(({ principal, ...acl }) => {
    const account = RIGHTS[principal.slice('User:'.length)];
    return account === undefined ? [] : [{ ...acl, principal: subject(account) }];
  });
  const admin = release.kafka.admin();
  await admin.connect();
  await admin.createAcls({ acl: [...granted, rightsToSetUp(subject('pay-hookline-setup'))] });
  await admin.disconnect();
});

afterAll(() => ways.disposeAsync());

/** Without --wait: the job after the upgrade begins while the pods are still being replaced. */
const upgrade = (more: object = {}, asCode: object = {}) =>
  release.install(
    {
      kafka: {
        brokers: [broker],
        sasl: {
          mechanism: 'OAUTHBEARER',
          serviceAccountToken: { audience: KAFKA_AUDIENCE, expirationSeconds: 600 },
        },
      },
      schemaRegistry: { url: release.registryUrl, serviceAccountToken: { audience: REGISTRY_AUDIENCE } },
      serviceAccount: { perProcess: true },
      subscriptions: [],
      networkPolicy: { egress: { enabled: true } },
      subscriptionsAsCode: {
        enabled: true,
        content: { subscriptions: WANTED },
        onDrift: 'fail',
        ...asCode,
      },
      ...more,
    },
    '--wait=false',
  );

/** Asks the provider from within the cluster. */
async function provider<T>(method: string, path: string, body?: object): Promise<T> {
  const asked = JSON.stringify({ method, headers: { 'content-type': 'application/json' } });
  const options = `{ ...${asked}, body: ${JSON.stringify(body && JSON.stringify(body))} }`;
  const script = `fetch('http://sandbox:8090${path}', ${options}).then((one) => one.text()).then(console.log)`;
  const answer = await release.kubectl('exec', 'sandbox', '--', 'node', '-e', script);
  return JSON.parse(answer) as T;
}
const subscriptions = () => provider<Subscription[]>('GET', '/_sandbox/subscriptions');
const at = async (ref: string) =>
  (await subscriptions()).find(({ url }) => url.endsWith(`/${ref}`)) ?? expect.fail(`no ${ref}`);

/** Somebody changes a subscription without Hookline. */
async function change(ref: string, events: string[]): Promise<void> {
  const { id, url, signingSecret, encryptionKey } = await at(ref);
  await provider('POST', '/_sandbox/subscriptions', { id, url, signingSecret, encryptionKey, events });
}

const results = () => readTopic({ ...env(), KAFKA_BROKERS: release.stack.brokers.join(',') }, RESULTS, 0);
const env = () => ({ SCHEMA_REGISTRY_URL: release.stack.registryUrl });

/** A rollout makes a new generation. */
async function generations(): Promise<number[]> {
  const { items } = await release.json<{ items: { metadata: { generation: number } }[] }>(
    'get',
    'deployments',
  );
  return items.map(({ metadata }) => metadata.generation);
}

describe('on a cluster, by tokens that Kubernetes projects, with subscriptions from Git', () => {
  it('helm install makes topics, schemas and the subscriptions of the values, without a password', async () => {
    await upgrade();
    expect(seen).toBeGreaterThan(0);
    const made = (await subscriptions()).map(({ url, events }) => [url.split('/').at(-1), events.toSorted()]);
    expect(Object.fromEntries(made)).toEqual({
      'ledger-eu': ['accounts-entries', 'payment-status'],
      analytics: ['collection-status'],
    });
    // Hooks that have done their work are gone, and so is the service account of those before the release.
    expect(await release.kubectl('get', 'jobs', '-o', 'name')).toBe('');
    const accounts = await release.kubectl('get', 'serviceaccounts', '-o', 'name');
    expect(accounts.trim().split('\n').sort()).toEqual(
      ['default', 'pay-hookline-control', 'pay-hookline-ingress', 'pay-hookline-subscriptions'].map(
        (name) => `serviceaccount/${name}`,
      ),
    );
  });

  it('webhooks land in Kafka, also after the broker has asked for another token', async () => {
    await release.kubectl('rollout', 'status', 'deployment/pay-hookline-ingress', '--timeout=180s');
    const send = async () => {
      const args = ['trigger', 'payment-status', '--ref', 'ledger-eu', '--count', '10', '--json'];
      return JSON.parse(await release.hookline(...args)).map(({ answer }: { answer: number }) => answer);
    };
    const begin = performance.now();
    while (performance.now() - begin < 2 * SESSION_MS) expect(await send()).toEqual(Array(10).fill(200));
  });

  it('helm test passes: the doctor has the rights of control', async () => {
    expect(await release.helm('test', release.name)).toMatch(/Phase:\s+Succeeded/);
  });

  it('a process has no rights but its own', async () => {
    const read = release.hookline('tail', 'payment-status', '--from-beginning', '--limit', '1');
    await expect(read).rejects.toThrow(/this user may not read it/);
  });

  it('a second helm upgrade changes nothing', async () => {
    const before = [await subscriptions(), await generations()];
    const commands = (await results()).length;
    await upgrade();
    expect([await subscriptions(), await generations()]).toEqual(before);
    // The job has asked what the provider has, and sent nothing else.
    expect(await results()).toHaveLength(commands + 1);
  });

  it('a change made at the provider fails the upgrade, which says why and repairs nothing', async () => {
    await change('analytics', ['payment_status']);
    const reason =
      /nothing was sent, because analytics changed at the provider: undo that at the provider, or repair it/;
    const failed: Error = await upgrade().then(
      () => expect.fail('the upgrade succeeds'),
      (error) => error,
    );
    expect(failed.message).toContain('post-upgrade hooks failed');
    expect(failed.message, 'Helm itself says why').toMatch(reason);
    expect(await release.kubectl('logs', 'job/pay-hookline-subscriptions')).toMatch(
      /! analytics has drifted: the provider has the subscription with another address or other events/,
    );
    expect(await release.kubectl('logs', 'job/pay-hookline-subscriptions')).toMatch(reason);
    expect(await at('analytics')).toMatchObject({ events: ['payment-status'] });
  });

  it('with onDrift: repair the next upgrade sets it again', async () => {
    await upgrade({}, { onDrift: 'repair' });
    expect(await at('analytics')).toMatchObject({ events: ['collection-status'] });
    expect(await release.kubectl('get', 'jobs', '-o', 'name')).toBe('');
  });

  it('the job waits for the new configuration of control: a changed address reaches the provider at once', async () => {
    const publicUrl = `http://pay-hookline-ingress.${release.namespace}.svc.cluster.local`;
    await upgrade({ publicUrl }, { onDrift: 'repair' });
    expect((await subscriptions()).map(({ url }) => url).toSorted()).toEqual(
      Object.keys(WANTED)
        .map((ref) => `${publicUrl}/webhooks/${ref}`)
        .sort(),
    );
  });
});
