import { join } from 'node:path';
import type { RunningProcess } from '../../support/running-process.ts';
import { Fixture } from '../../support/topics-fixture.ts';
import { type FaultCluster, PARTITIONS } from '../cluster/fault-cluster.ts';
import { EVENT_TYPES, subscriptionsOf } from '../traffic/webhooks.ts';

/** What is put under test. */
export type SystemKind = 'hookline' | 'naive' | 'naive-plain';

export type SystemTraits = {
  readonly entry: string;
  readonly env: Readonly<Record<string, string>>;
  /** Kafka's name for it, by which the proxies tell it apart. */
  readonly clientId: string;
  /** Whether answers and records bear the event id of the contract. */
  readonly hasEventIds: boolean;
  /** How long it may take to stop. What hangs for ever after a fault isn't waited for. */
  readonly graceMs: number;
};

export const SYSTEMS: Readonly<Record<SystemKind, SystemTraits>> = {
  hookline: {
    entry: 'src/ingress/main.ts',
    env: {},
    clientId: 'hookline-ingress',
    hasEventIds: true,
    graceMs: 25_000,
  },
  /** kafkajs' idempotent producer with its defaults. */
  naive: {
    entry: 'test/bench/naive/main.ts',
    env: {},
    clientId: 'naive-receiver',
    hasEventIds: false,
    graceMs: 2_000,
  },
  /** The same, not idempotent, with acks from all replicas. */
  'naive-plain': {
    entry: 'test/bench/naive/main.ts',
    env: { NAIVE_IDEMPOTENT: 'false' },
    clientId: 'naive-receiver',
    hasEventIds: false,
    graceMs: 2_000,
  },
};

/** Longest time that an event waits for Kafka, by the settings' defaults. */
const PUBLISH_DEADLINE_MS = { alone: 15_000, withSpool: 2_000 };
/** What an answer may take beyond it: looking at deadlines, and a machine that is busy with three brokers and more. */
const SLACK_MS = 5_000;

/** Thirty times as long as the balancer of the kit takes to notice: it shares a busy machine with all of this. */
const STOP_DELAY_MS = '3000';

/** A system with topics and keys of its own on the cluster, reaching it through the proxies alone. */
export class System implements AsyncDisposable {
  readonly kind: SystemKind;
  readonly traits: SystemTraits;
  readonly fixture: Fixture;
  readonly #env: Record<string, string>;
  readonly #withSpool: boolean;
  readonly #cluster: FaultCluster;

  private constructor(kind: SystemKind, fixture: Fixture, cluster: FaultCluster, withSpool: boolean) {
    this.kind = kind;
    this.traits = SYSTEMS[kind];
    this.fixture = fixture;
    this.#cluster = cluster;
    this.#withSpool = withSpool && kind === 'hookline';
    const clients = { KAFKA_BROKERS: cluster.proxied.join(','), LOG_LEVEL: 'info', STOP_DELAY_MS };
    this.#env = { ...clients, ...this.traits.env };
  }

  static async make(options: {
    kind: SystemKind;
    cluster: FaultCluster;
    seed: number;
    withSpool: boolean;
  }): Promise<System> {
    const { kind, cluster, seed, withSpool } = options;
    const stack = { brokers: cluster.direct, registryUrl: cluster.registryUrl };
    const fixture = await Fixture.make(stack, { partitions: PARTITIONS });
    for (const { ref, subscriptionId, signingSecret, encryptionKey } of subscriptionsOf(seed)) {
      fixture.secrets(ref, {
        'subscription-id': subscriptionId,
        'signing-secret': signingSecret,
        'encryption-key': encryptionKey,
      });
    }
    return new System(kind, fixture, cluster, withSpool);
  }

  /** Where its events go. */
  get eventTopics(): string[] {
    return EVENT_TYPES.map((type) => this.fixture.topic(type));
  }

  /** Where none of the events that are sent here should go. */
  get otherTopics(): string[] {
    return ['unclassified', 'dead-letter', 'collection-status'].map((name) => this.fixture.topic(name));
  }

  /** Within it every answer has to be there. */
  get deadlineMs(): number {
    return (this.#withSpool ? PUBLISH_DEADLINE_MS.withSpool : PUBLISH_DEADLINE_MS.alone) + SLACK_MS;
  }

  /** Starts a process of it; `slot` tells those apart that run at once, and a restart takes its predecessor's slot. */
  async start(slot = 0): Promise<{ process: RunningProcess; url: string }> {
    const spool = this.#withSpool ? { SPOOL_DIR: join(this.fixture.dir, `spool-${slot}`) } : {};
    const running = this.fixture.start(this.traits.entry, { ...this.#env, ...spool });
    return { process: running, url: String((await running.logged('listening')).url) };
  }

  get hasSpool(): boolean {
    return this.#withSpool;
  }

  /** Whether all that went into the spool is in Kafka, and Kafka is used again. */
  async isDrained(process: RunningProcess): Promise<boolean> {
    const text = await (await fetch(`${await process.adminUrl()}/metrics`)).text();
    return ['hookline_spool_in_use 0', 'hookline_spool_deliveries 0'].every((line) =>
      text.split('\n').includes(line),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fixture[Symbol.asyncDispose]();
    const { prefix } = this.fixture;
    await this.#cluster
      .withAdmin(async (admin) => {
        const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(`${prefix}.`));
        await admin.deleteTopics({ topics });
      })
      // The next schedule has topics of its own; what is left of these ends with the cluster.
      .catch(() => {});
  }
}
