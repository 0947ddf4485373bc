import { expect } from 'vitest';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/start-stack.ts';
import { cli } from '../support/cli.ts';
import { ControlFixture } from '../support/control-fixture.ts';
import { readDocument, sectionOf } from '../support/documents.ts';
import { shellLine } from '../support/shell-line.ts';
import { postSigned } from '../support/sign.ts';
import { asAdmin, testKafka } from '../support/topic-reader.ts';
import { PARTITIONS } from '../support/topics-fixture.ts';
import { until } from '../support/until.ts';
import { MirrorMaker } from './mirror-maker.ts';

const COPIED_MS = 120_000;
const COMPARE_MS = 60_000;
/** As the settings of the document have it, and the document says. */
const OFFSETS_COPIED_MS = 10_000;

/** A cluster of one node has one replica of MirrorMaker's own topics. */
const ONE_REPLICA = [
  '',
  'checkpoints.topic',
  'offset-syncs.topic',
  'offset.storage',
  'status.storage',
  'config.storage',
]
  .map((name) => `${[name, 'replication.factor'].filter(Boolean).join('.')} = 1\n`)
  .join('');

/** The block of the document in this language: `properties` are step 3, `bash` is step 5. */
function blockOf(language: 'properties' | 'bash'): string {
  const section = sectionOf(readDocument('docs/another-cluster.md'), '## Move');
  const [, block] = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(section) ?? [];
  if (block === undefined) throw new Error(`the document has no ${language}`);
  return block.replaceAll(/^ {3}/gm, '');
}

/** What step 5 says of a partition. */
export type Compared = { readonly partition: string; readonly state: string };

const GOOD = new Set(['is copied', 'ends with no record']);

/** A whole installation on one cluster, and another cluster that is empty; the registry is beside them. */
export class TwoClusters implements AsyncDisposable {
  /** What a team's ledger has booked, by the entity: statuses in the order in which they first came. */
  readonly booked = new Map<string, string[]>();
  /** Records that it has read. */
  read = 0;

  readonly old: Stack;
  readonly next: Stack;
  readonly the: ControlFixture;

  private constructor(old: Stack, next: Stack, the: ControlFixture) {
    this.old = old;
    this.next = next;
    this.the = the;
  }

  static async start(ingress: Record<string, string> = {}): Promise<TwoClusters> {
    const env = { ...process.env, KAFKA_BROKERS: undefined, SCHEMA_REGISTRY_URL: undefined };
    const onProgress = (line: string) => console.log(`stack: ${line}`);
    const old = await startStack({ env, onProgress, way: 'jvm' });
    const next = await startStack({ env, onProgress, way: 'jvm', withRegistry: false });
    return new TwoClusters(old, next, await ControlFixture.make(old, ingress));
  }

  get #nextEnv() {
    return { ...this.the.fixture.env, KAFKA_BROKERS: String(this.next.brokers) };
  }

  /** The document's text, at the addresses and with the topics of this test. */
  #here = (text: string) =>
    text
      .replaceAll('old-kafka:9092', String(this.old.brokers))
      .replaceAll('new-kafka:9092', String(this.next.brokers))
      .replaceAll('payments', this.the.fixture.prefix);

  /** Sends a status of each of these entities to a ref; each must be acknowledged. */
  async send(ref: string, status: string, entities: readonly string[], more: object = {}): Promise<void> {
    const subscription = (await this.the.subscriptions()).find(({ url }) => url.endsWith(`/${ref}`));
    const keys = {
      subscriptionId: String(subscription?.id),
      signingSecret: String(subscription?.signingSecret),
    };
    for (const entityId of entities) {
      const body = JSON.stringify({ type: 'payment-status', entityId, payload: { status, ...more } });
      const answer = await postSigned(`${this.the.ingress.url}/webhooks/${ref}`, keys, body);
      expect(answer).toMatchObject({ status: 200 });
    }
  }

  /** Reads as a team's ledger does, in a group, until it has booked so many statuses. */
  async book(atLeast: number): Promise<void> {
    const consumer = testKafka(this.the.fixture.env).consumer({
      groupId: `${this.the.fixture.prefix}-ledger`,
    });
    await consumer.connect();
    await consumer.subscribe({ topics: [this.the.fixture.topic('payment-status')], fromBeginning: true });
    await consumer.run({
      eachMessage: async ({ message: { key, value } }) => {
        this.read++;
        const statuses = this.booked.get(String(key)) ?? [];
        const [, status = ''] = /"status":"(\w+)"/.exec(String(value?.subarray(0, 500))) ?? [];
        if (!statuses.includes(status)) this.booked.set(String(key), [...statuses, status]);
      },
    });
    const count = () => [...this.booked.values()].flat().length;
    await until(`${atLeast} statuses are booked`, () => count() >= atLeast, 60_000).finally(() =>
      consumer.disconnect(),
    );
  }

  /** As retention does: what comes behind it has other offsets in a copy. */
  async deleteBeginnings(names: readonly string[]): Promise<void> {
    await asAdmin(this.the.fixture.env, async (admin) => {
      for (const name of names) {
        const topic = this.the.fixture.topic(name);
        const ends = await admin.fetchTopicOffsets(topic);
        const partitions = ends.map(({ partition, high }) => ({ partition, offset: high }));
        await admin.deleteTopicRecords({ topic, partitions });
      }
    });
  }

  /** Step 1. */
  async createTopics(): Promise<void> {
    const applied = await cli(this.#nextEnv, 'topics', 'apply', '--partitions', String(PARTITIONS));
    expect(applied.exitCode, applied.notes).toBe(0);
  }

  /** Step 3. */
  async copy(): Promise<MirrorMaker> {
    const settings = `${this.#here(blockOf('properties'))}${ONE_REPLICA}`;
    return MirrorMaker.start(this.the.fixture.file('move.properties', settings));
  }

  /** Step 5, once. */
  async compare(): Promise<Compared[]> {
    const { stdout } = await shellLine(this.#here(blockOf('bash')), {}, COMPARE_MS);
    return [...stdout.matchAll(/^(\S+ \d+) (.*)$/gm)].map(([, partition = '', state = '']) => ({
      partition,
      state,
    }));
  }

  /** Steps 5 and 6. */
  async copied(mirrorMaker: MirrorMaker): Promise<void> {
    let last: Compared[] = [];
    const isCopied = async () => {
      last = await this.compare();
      return last.length > 0 && last.every(({ state }) => GOOD.has(state));
    };
    await until('all is copied', isCopied, COPIED_MS).catch((error) => {
      const left = last.filter(({ state }) => !GOOD.has(state));
      throw new Error(`${error.message}: ${JSON.stringify(left)} ${mirrorMaker.faults()}`);
    });
    await new Promise((done) => setTimeout(done, OFFSETS_COPIED_MS));
  }

  /** Records that a group has not read in the new cluster; null where the group has no offset for a partition with records. */
  async lagThere(groupId: string, name: string): Promise<number | null> {
    const topic = this.the.fixture.topic(name);
    return asAdmin(this.#nextEnv, async (admin) => {
      const ends = await admin.fetchTopicOffsets(topic);
      const [{ partitions } = { partitions: [] }] = await admin.fetchOffsets({ groupId, topics: [topic] });
      let lag = 0;
      for (const { partition, high } of ends) {
        const at = Number(partitions.find((one) => one.partition === partition)?.offset ?? -1);
        if (at < 0 && high !== '0') return null;
        lag += Number(high) - Math.max(at, 0);
      }
      return lag;
    });
  }

  /** Step 7. */
  async startAtNext(ingress: Record<string, string> = {}): Promise<void> {
    Object.assign(this.the.fixture.env, this.#nextEnv);
    const { port } = new URL(this.the.ingress.url);
    await this.the.fixture.ingress({ ...ingress, INGRESS_PORT: port });
    this.the.control = await this.the.fixture.control(this.the.urls);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.the[Symbol.asyncDispose]();
    await Promise.all([this.old.stop(), this.next.stop()]);
  }
}
