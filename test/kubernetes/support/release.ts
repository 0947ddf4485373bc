import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import kafkajs from 'kafkajs';
import { judge, type Verdict } from '../../faults/oracle/judge.ts';
import { readBack } from '../../faults/oracle/read-back.ts';
import { Stored } from '../../faults/oracle/stored.ts';
import type { Sent } from '../../faults/traffic/sender.ts';
import { SenderThread } from '../../faults/traffic/sender-thread.ts';
import { EVENT_TYPES, subscriptionsOf } from '../../faults/traffic/webhooks.ts';
import type { KafkaOptions } from '../../stack/kafka-cluster.ts';
import type { Stack } from '../../stack/stack.ts';
import { startStack } from '../../stack/start-stack.ts';
import { CHART } from '../../support/generated/chart-readme.ts';
import { ROOT } from '../../support/source-tree.ts';
import { until } from '../../support/until.ts';
import { forward } from './forward.ts';
import { apply, kubectl, kubectlJson, runProgram } from './kubectl.ts';
import { restrictedNamespace, sandboxObjects, secret } from './objects.ts';

export type Cluster = {
  helm: string;
  image: string;
  sandboxImage: string;
  nodeAddress: string;
  hostAddress: string;
};

/** What stands around a release, if it is not what any client may use. */
export type Surroundings = {
  readonly kafka?: KafkaOptions;
  /** Puts something in front of the registry. */
  readonly registry?: (url: string) => Promise<{ readonly url: string } & AsyncDisposable>;
};

export const SEED = 20260901;
const ENTITIES = 60;
/** More events than an entity has in one load: each load has events of its own, else those of the one before would stand for lost ones. */
const EVENTS_PER_LOAD = 100_000;
/** What a sender waits for an answer; and what an answer may take that isn't late. */
const ANSWER_MS = 30_000;
const START_MS = '240s';

/** With what an annotation has to escape. */
export const DIALECT = { extra: { allow: ['label', 'a "quoted" $(NAME): {{ name }}'] } };

/** A namespace with what an installation needs: Kafka and a registry on this machine, Secrets, a provider. */
export class Release implements AsyncDisposable {
  readonly name = 'pay';
  readonly namespace = `hookline-${randomBytes(4).toString('hex')}`;
  readonly cluster: Cluster;
  readonly stack: Stack;
  readonly registryUrl: string;
  readonly #ways = new AsyncDisposableStack();
  #loads = 0;

  private constructor(cluster: Cluster, stack: Stack, registryPort: number) {
    this.cluster = cluster;
    this.stack = stack;
    const { pathname } = new URL(stack.registryUrl);
    this.registryUrl = `http://${cluster.hostAddress}:${registryPort}${pathname}`;
  }

  static async make(cluster: Cluster, { kafka, registry }: Surroundings = {}): Promise<Release> {
    const { hostAddress: host, sandboxImage } = cluster;
    const stack = await startStack({ env: process.env, way: 'jvm', kafka: { host, ...kafka } });
    const front = await registry?.(stack.registryUrl);
    const way = await forward(host, Number(new URL(front?.url ?? stack.registryUrl).port));
    const release = new Release(cluster, stack, way.port);
    release.#ways.use(stack);
    if (front) release.#ways.use(front);
    release.#ways.use(way);
    const { namespace } = release;
    await apply(restrictedNamespace(namespace));
    release.#ways.defer(async () => void (await kubectl('delete', 'namespace', namespace, '--wait=false')));
    await apply(
      secret(namespace, 'sealing-key', { 'sealing-key': randomBytes(32).toString('hex') }),
      secret(namespace, 'provider-jwt', { jwt: 'sandbox-lite-jwt' }),
      ...subscriptionsOf(SEED).map((one) => release.keys(one.ref, one.signingSecret)),
      ...sandboxObjects(namespace, sandboxImage),
    );
    return release;
  }

  /** The Secret of a ref, with these signing secrets, the current one first. */
  keys(ref: string, signingSecrets: string, name = `keys-${ref}`) {
    const found = subscriptionsOf(SEED).find((one) => one.ref === ref);
    const { subscriptionId = '', encryptionKey = '' } = found ?? {};
    return secret(this.namespace, name, {
      'subscription-id': subscriptionId,
      'signing-secret': signingSecrets,
      'encryption-key': encryptionKey,
    });
  }

  subscription = (ref: string) => {
    const found = subscriptionsOf(SEED).find((one) => one.ref === ref);
    if (!found) throw new Error(`no subscription ${ref}`);
    return found;
  };

  /** `helm install` or `helm upgrade`; waits until everything is ready. */
  async install(values: object = {}, ...flags: string[]): Promise<string> {
    const [repository = '', tag = ''] = this.cluster.image.split(':');
    const own = {
      image: { repository, tag },
      publicUrl: `http://${this.name}-hookline-ingress.${this.namespace}`,
      // One broker, and a sandbox that speaks no TLS.
      minInsyncReplicas: 1,
      allowPlaintextCredentials: true,
      kafka: { brokers: this.stack.brokers },
      schemaRegistry: { url: this.registryUrl },
      sealingKey: { secret: 'sealing-key' },
      provider: {
        authUrl: 'http://sandbox:8090',
        baseUrl: 'http://sandbox:8090',
        scope: 'accounts.read transactions.read',
        jwtSecret: 'provider-jwt',
        dialect: DIALECT,
      },
      subscriptions: subscriptionsOf(SEED).map(({ ref }) => ({ ref, secret: `keys-${ref}` })),
      ingress: { service: { type: 'NodePort' } },
    };
    const args = ['upgrade', '--install', this.name, join(ROOT, CHART), '-n', this.namespace, '--wait'];
    const all = [...args, '--timeout', START_MS, '-f', '-', ...flags];
    return runProgram(this.cluster.helm, all, JSON.stringify({ ...own, ...values }));
  }

  helm(...args: string[]): Promise<string> {
    return runProgram(this.cluster.helm, [...args, '-n', this.namespace]);
  }

  kubectl = (...args: string[]) => kubectl('-n', this.namespace, ...args);
  json = <T>(...args: string[]) => kubectlJson<T>('-n', this.namespace, ...args);

  /** `hookline …` in a pod of control, as an operator calls it. */
  hookline(...args: string[]): Promise<string> {
    const env = ['env', 'SANDBOX_URL=http://sandbox:8090'];
    return this.kubectl('exec', `deploy/${this.name}-hookline-control`, '--', ...env, 'hookline', ...args);
  }

  async pods(component: string): Promise<string[]> {
    const selector = `app.kubernetes.io/component=${component}`;
    const { items } = await this.json<{ items: { metadata: { name: string } }[] }>(
      'get',
      'pods',
      '-l',
      selector,
    );
    return items.map(({ metadata }) => metadata.name);
  }

  /** The webhooks' Service, as it is reached from outside of the cluster. */
  async url(): Promise<string> {
    type Service = { spec: { ports: { nodePort: number }[] } };
    const { spec } = await this.json<Service>('get', 'service', `${this.name}-hookline-ingress`);
    return `http://${this.cluster.nodeAddress}:${spec.ports[0]?.nodePort}`;
  }

  /** Sends webhooks while `work` runs, and until every entity has passed again after it; then reads everything back. */
  async underLoad(work: () => Promise<void>): Promise<Verdict> {
    const firstNumber = this.#loads++ * EVENTS_PER_LOAD;
    const traffic = { url: await this.url(), seed: SEED, entities: ENTITIES, perSecond: 100, firstNumber };
    const waits = { answerWithinMs: ANSWER_MS, againAfterMs: 50, answersEventIds: true };
    const sender = new SenderThread({ ...traffic, ...waits });
    try {
      const passes = (since: number) =>
        until('every entity passes', async () => (await sender.progress(since)).isRecovered, 60_000);
      await passes(0);
      await work();
      await passes(Date.now());
      return await this.#judge(await sender.stop());
    } finally {
      await sender.end();
    }
  }

  get kafka(): kafkajs.Kafka {
    return new kafkajs.Kafka({
      clientId: 'test',
      brokers: [...this.stack.brokers],
      logLevel: kafkajs.logLevel.NOTHING,
    });
  }

  async #judge(sent: Sent): Promise<Verdict> {
    const stored = new Stored({ seed: SEED, checksIds: true });
    const topics = EVENT_TYPES.map((type) => `payments.${type}`);
    await readBack({ kafka: this.kafka, registryUrl: this.stack.registryUrl, topics, into: stored });
    return judge({ sent, stored, faultTimes: [], deadlineMs: ANSWER_MS });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ways.disposeAsync();
  }
}
