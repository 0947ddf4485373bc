import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { cli } from '../support/cli.ts';
import { postSigned } from '../support/sign.ts';
import { readTopic } from '../support/topic-reader.ts';
import { until } from '../support/until.ts';
import { apply } from './support/kubectl.ts';
import { secret } from './support/objects.ts';
import { DIALECT, Release } from './support/release.ts';

const REF = 'ledger-eu';
const NOTHING_WRONG = { lost: 0, orderViolations: 0, altered: 0, wronglyStored: 0, late: 0 };

let release: Release;

beforeAll(async () => {
  release = await Release.make({
    helm: inject('helm'),
    image: inject('image'),
    sandboxImage: inject('sandboxImage'),
    nodeAddress: inject('nodeAddress'),
    hostAddress: inject('hostAddress'),
  });
});

afterAll(() => release?.[Symbol.asyncDispose]());

const env = () => ({
  KAFKA_BROKERS: release.stack.brokers.join(','),
  SCHEMA_REGISTRY_URL: release.stack.registryUrl,
});

/** By both pods, as the Service chooses one for each connection. */
async function statusesOf(secret: string): Promise<number[]> {
  const url = `${await release.url()}/webhooks/${REF}`;
  const keys = { subscriptionId: release.subscription(REF).subscriptionId, signingSecret: secret };
  const body = () => JSON.stringify({ type: 'payment-status', entityId: randomUUID() });
  const posts = Array.from({ length: 20 }, () => postSigned(url, keys, body(), { connection: 'close' }));
  return [...new Set((await Promise.all(posts)).map(({ status }) => status))];
}

describe('on a cluster, in a namespace that enforces the restricted Pod Security level', () => {
  it('helm install makes topics and schemas by its jobs, and then brings all pods up', async () => {
    await expect(
      release.kubectl('run', 'root', '--image=none', '--dry-run=server'),
      'the namespace refuses other pods',
    ).rejects.toThrow(/violates PodSecurity/);
    const before = release.kafka.admin();
    await before.connect();
    expect(await before.listTopics()).toEqual([]);
    await before.disconnect();
    const notes = await release.install();
    expect(notes).toContain('is installed as pay');
    // Its Service is a NodePort.
    expect(notes).not.toContain('cannot be reached from outside the cluster');
    expect((await cli(env(), 'topics', 'plan')).exitCode).toBe(0);
    expect((await cli(env(), 'schemas', 'check')).exitCode).toBe(0);
    // Hooks that have done their work are gone.
    expect(await release.kubectl('get', 'jobs', '-o', 'name')).toBe('');
    expect(await release.pods('ingress')).toHaveLength(2);
  });

  it('a command message creates a subscription, and its webhooks land in Kafka through the Service', async () => {
    const create = ['subscription.create', '--ref', 'by-command', '--events', 'collection-status'];
    const { exitCode, out, notes } = await cli(env(), 'command', ...create, '--wait');
    expect(exitCode, out + notes).toBe(0);
    const answers = JSON.parse(
      await release.hookline('trigger', 'collection-status', '--count', '20', '--json'),
    );
    expect(answers.map(({ answer }: { answer: number }) => answer)).toEqual(Array(20).fill(200));
    const records = await readTopic(env(), 'payments.collection-status', 20);
    expect(records.map(({ record }) => record?.subscription)).toEqual(Array(20).fill('by-command'));
  });

  it('helm test passes, the doctor among it', async () => {
    expect(await release.helm('test', release.name)).toMatch(/Phase:\s+Succeeded/);
  });

  it('helm test says why it fails', async () => {
    await apply(secret(release.namespace, 'provider-jwt', { jwt: 'of somebody else' }));
    // Helm 4 writes the whole log into one line.
    await expect(release.helm('test', release.name)).rejects.toThrow(/(\n|\\n)token +FAULT/);
    await apply(secret(release.namespace, 'provider-jwt', { jwt: 'sandbox-lite-jwt' }));
    // Else the pod that failed would outlast the release.
    await release.helm('test', release.name);
  });

  it('control has the dialect of the values as a file', async () => {
    const print = 'console.log(require("node:fs").readFileSync(process.env.PROVIDER_DIALECT_FILE, "utf8"))';
    const control = `deploy/${release.name}-hookline-control`;
    expect(JSON.parse(await release.kubectl('exec', control, '--', 'node', '-e', print))).toEqual(DIALECT);
  });

  it('a rollout under load answers every webhook with 200', async () => {
    const verdict = await release.underLoad(async () => {
      for (const process of ['ingress', 'control']) {
        const name = `deployment/pay-hookline-${process}`;
        await release.kubectl('rollout', 'restart', name);
        await release.kubectl('rollout', 'status', name, '--timeout=180s');
      }
      // The old pods still finish what they have.
      await until('the old pods are gone', async () => (await release.pods('ingress')).length === 2, 60_000);
    });
    expect(verdict).toMatchObject(NOTHING_WRONG);
    expect(Object.keys(verdict.statuses)).toEqual(['200']);
    expect(verdict.errors).toEqual({});
    expect(verdict.acked).toBeGreaterThan(500);
    console.log(
      `rollout: ${verdict.acked} webhooks, all 200, longest ${Math.round(verdict.longestAnswerMs)} ms`,
    );
  });

  it('a pod that is killed with force loses nothing that was acknowledged', async () => {
    const verdict = await release.underLoad(async () => {
      for (let n = 0; n < 2; n++) {
        const [victim = ''] = await release.pods('ingress');
        await release.kubectl('delete', 'pod', victim, '--force', '--grace-period=0');
        await release.kubectl('rollout', 'status', 'deployment/pay-hookline-ingress', '--timeout=120s');
      }
    });
    expect(verdict).toMatchObject(NOTHING_WRONG);
    expect(verdict.acked).toBeGreaterThan(500);
    console.log(`killed: ${verdict.acked} acked, ${verdict.unanswered} unanswered and sent again, 0 lost`);
  });

  it('helm upgrade with a changed Secret rotates a signing key without a 401 in between', async () => {
    const { signingSecret: old } = release.subscription(REF);
    const next = randomUUID();
    const withKeys = (name: string) => ({
      subscriptions: ['ledger-eu', 'ledger-uk', 'treasury'].map((ref) => ({
        ref,
        secret: ref === REF ? name : `keys-${ref}`,
      })),
    });
    await apply(release.keys(REF, `${next}\n${old}`, 'keys-both'), release.keys(REF, next, 'keys-next'));
    // The provider goes on signing with the old one all the while.
    const verdict = await release.underLoad(async () => {
      await release.install(withKeys('keys-both'));
    });
    expect(Object.keys(verdict.statuses)).toEqual(['200']);
    expect(verdict).toMatchObject(NOTHING_WRONG);
    expect([await statusesOf(next), await statusesOf(old)]).toEqual([[200], [200]]);
    // It has changed to the new one: the old one is removed.
    await release.install(withKeys('keys-next'));
    expect(await statusesOf(next)).toEqual([200]);
    await until(
      'no old pod is left',
      async () => (await statusesOf(old)).every((status) => status === 401),
      60_000,
    );
  });

  it('an upgrade to a faulty setting stops at its first pod, and a pod of before that starts again keeps its settings', async () => {
    const faulty = { ingress: { service: { type: 'NodePort' }, settings: { MAX_BODY_BYTES: 'much' } } };
    const timeout = ['--no-hooks', '--timeout', '20s'];
    await expect(release.install(faulty, ...timeout)).rejects.toThrow(/timed out|deadline/);
    const before = (await release.pods('ingress')).length;
    expect(before, 'two of before, one that does not start').toBe(3);
    // As an eviction does it, and a container that ran out of memory.
    const ready = 'jsonpath={.items[?(@.status.containerStatuses[0].ready==true)].metadata.name}';
    const pods = ['get', 'pods', '-l', 'app.kubernetes.io/component=ingress', '-o', ready];
    for (const pod of (await release.kubectl(...pods)).split(' '))
      await release.kubectl('delete', 'pod', pod);
    const again = async () => (await release.kubectl(...pods)).split(' ').filter(Boolean).length === 2;
    await until('as many pods as before are ready', again, 60_000);
    expect(await statusesOf(release.subscription(REF).signingSecret)).toEqual([401]);
    await release.helm('rollback', release.name, '--wait', '--timeout', '120s');
  });

  it('helm uninstall leaves nothing but what it says: topics, schemas and Secrets of others', async () => {
    await release.helm('uninstall', release.name, '--wait');
    const kinds =
      'deployments,statefulsets,pods,jobs,services,configmaps,serviceaccounts,persistentvolumeclaims,poddisruptionbudgets,networkpolicies';
    const own = ['get', kinds, '-l', 'app.kubernetes.io/instance=pay', '-o', 'name'];
    await until('nothing is left', async () => (await release.kubectl(...own)) === '', 60_000);
    expect(await release.kubectl('get', 'secrets', '-o', 'name')).not.toContain('helm.release');
    expect((await cli(env(), 'topics', 'plan')).exitCode).toBe(0);
  });
});
