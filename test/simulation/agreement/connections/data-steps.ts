import type { Batch } from '../../../../src/kafka/produce/encode-batch.ts';
import type { Random } from '../../../faults/random.ts';
import type { LineFault } from '../wire/conversation.ts';
import * as kafkajs from '../wire/kafkajs-requests.ts';
import * as platformatic from '../wire/platformatic-requests.ts';
import type { WireRequest } from '../wire/wire-request.ts';
import { LINES, type Lockstep } from './lockstep.ts';

export const PARTITIONS = 3;
/** max.message.bytes of the topic. */
export const MAX_MESSAGE_BYTES = 3_000;

const FAULTS: readonly (LineFault | undefined)[] = [
  ...[undefined, undefined, undefined, undefined],
  ...(['pieces', 'half', 'open', 'lost'] as const),
];
const UNKNOWN_PARTITION = 7;
const UNKNOWN_TOPIC = 'nowhere';
const UNKNOWN_ID = '11111111-2222-4333-8444-555555555555';
const TIME = 1_770_000_000_000n;
const WAIT_MS = 20;
/** Ends sooner where a record comes. */
const LONG_WAIT_MS = 5_000;
/** A request has most likely reached the broker by then. */
const REACHED_MS = 15;
/** How long a request whose connection broke may take until its effect is seen. */
const EFFECT_MS = 500;
const OLDEST = -2n;
const END = -1n;
/** Between the largest batch with one record that the topic takes, and its value. */
const AROUND_A_VALUE = 85;

/** What producers and readers ask, each step drawn at random. */
export class DataSteps {
  readonly #both: Lockstep;
  readonly #topic: string;
  readonly #random: Random;
  #written = 0;
  /** The batch before, as whoever got no answer sends it again. */
  #last: Batch | undefined;

  constructor(both: Lockstep, topic: string, random: Random) {
    this.#both = both;
    this.#topic = topic;
    this.#random = random;
  }

  step(): Promise<void> {
    const produce = () => this.#produce();
    const fetch = () => this.#fetch();
    const rest = [
      () => this.#pipeline(),
      () => this.#longFetch(),
      () => this.#list(),
      () => this.#metadata(),
    ];
    return this.#random.pick([produce, produce, produce, fetch, fetch, ...rest])();
  }

  /** Everything that both hold at the end. */
  async compareAll(): Promise<void> {
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const from = { partition, offset: 0, maxWaitMs: 0 };
      await this.#both.ask('contents', ({ topicId }) => platformatic.fetch(topicId, from));
      for (const at of [OLDEST, END])
        await this.#both.ask('ends', () => platformatic.listOffsets(this.#topic, partition, at));
    }
  }

  async #produce(): Promise<void> {
    const random = this.#random;
    const batch = this.#last && random.chance(0.2) ? this.#last : this.#newBatch();
    this.#last = batch;
    const fault = random.pick(FAULTS);
    if (fault === 'open') return this.#produceOpen(batch);
    const request = this.#requestOf(batch);
    await this.#both.ask('produce', () => request, { line: this.#line(), fault });
  }

  /** Those that share its request: each partition at most once. */
  #othersBeside(batch: Batch): Batch[] {
    if (this.#random.chance(0.6)) return [];
    const others = [this.#newBatch(), this.#newBatch()];
    const places = new Set([`${batch.topic} ${batch.partition}`]);
    return others.filter(({ topic, partition }) => {
      const place = `${topic} ${partition}`;
      return !places.has(place) && places.add(place);
    });
  }

  #line = (): number => this.#random.below(LINES);

  /** As the product writes it, or as the receiver over kafkajs does. */
  #requestOf(batch: Batch): WireRequest {
    if (this.#random.chance(0.8)) return platformatic.produce([batch, ...this.#othersBeside(batch)]);
    return this.#random.chance(0.1) ? kafkajs.produce() : kafkajs.produce(batch);
  }

  /** Several requests on their way over one connection at once: they are carried out and answered in their order. */
  async #pipeline(): Promise<void> {
    const line = this.#line();
    const answers: (() => Promise<void>)[] = [];
    for (let left = this.#random.between(2, 5); left > 0; left--) {
      const request = this.#random.chance(0.8)
        ? this.#requestOf(this.#newBatch())
        : platformatic.listOffsets(this.#topic, this.#partition(), END);
      answers.push(await this.#both.write('pipeline', () => request, { line }));
    }
    for (const answer of answers) await answer();
  }

  /** A reader waits at the end of a partition until another connection writes to it. */
  async #longFetch(): Promise<void> {
    const partition = this.#random.below(PARTITIONS);
    const from = { partition, offset: this.#endOf(partition), maxWaitMs: LONG_WAIT_MS };
    const isKafkajs = this.#random.chance(0.5);
    const request = (topicId: string) =>
      isKafkajs ? kafkajs.fetch(this.#topic, from) : platformatic.fetch(topicId, from);
    const answer = await this.#both.write('fetch that waits', ({ topicId }) => request(topicId));
    for (const side of this.#both.sides) await side.target.pass(REACHED_MS);
    const batch = { ...this.#newBatch(), topic: this.#topic, partition, records: [this.#record(20)] };
    await this.#both.ask('produce', () => platformatic.produce([batch]), { line: 1 });
    await answer();
  }

  /** Nobody knows whether the broker has it: the model goes on in the way that the broker did. */
  async #produceOpen(batch: Batch): Promise<void> {
    const { kafka, model } = this.#both;
    const before = this.#endOf(batch.partition);
    const line = this.#line();
    await kafka.line(line).write(platformatic.produce([batch]), 'open');
    const isStored = batch.topic === this.#topic && (await this.#grows(batch.partition, before));
    this.#both.story.push(`produce, open: ${isStored ? 'stored' : 'not stored'}`);
    await model.line(line).write(platformatic.produce([batch]), isStored ? 'lost' : 'half');
    const partition = batch.partition % PARTITIONS;
    await this.#both.ask('end', () => platformatic.listOffsets(this.#topic, partition, END));
  }

  /** Whether the broker stores something, other than what is too large or goes nowhere. */
  async #grows(partition: number, before: number): Promise<boolean> {
    if (partition >= PARTITIONS) return false;
    const { kafka } = this.#both;
    const begin = kafka.target.now();
    while (kafka.target.now() - begin < EFFECT_MS) {
      const listed = (await kafka.ask(platformatic.listOffsets(this.#topic, partition, END))) as Listed;
      if (Number(listed.topics[0]?.partitions[0]?.offset ?? 0) > before) return true;
      await kafka.target.pass(10);
    }
    return false;
  }

  #endOf = (partition: number): number =>
    this.#both.cluster.topics.get(this.#topic)?.[partition]?.kept.at(-1)?.end ?? 0;

  #partition = (): number => (this.#random.chance(0.1) ? UNKNOWN_PARTITION : this.#random.below(PARTITIONS));

  #newBatch(): Batch {
    const random = this.#random;
    const isLarge = random.chance(0.2);
    // About as large as the topic takes: some a few bytes less, some a few bytes more.
    const size = isLarge ? MAX_MESSAGE_BYTES - AROUND_A_VALUE + random.between(-6, 6) : random.below(200);
    const count = isLarge ? 1 : random.between(1, 4);
    const partition = this.#partition();
    const isNowhere = partition === UNKNOWN_PARTITION && random.chance(0.5);
    return {
      topic: isNowhere ? UNKNOWN_TOPIC : this.#topic,
      partition,
      records: Array.from({ length: count }, () => this.#record(size)),
      bytes: 0,
      isAlone: false,
      mayBegin: () => true,
    };
  }

  #record(size: number): Batch['records'][number] {
    const random = this.#random;
    const n = ++this.#written;
    return {
      key: Buffer.from(`key-${random.below(8)}`),
      value: random.chance(0.1) && size < 200 ? null : Buffer.alloc(size, `${n} `),
      headers: new Map(random.chance(0.5) ? [[Buffer.from('n'), Buffer.from(`${n}`)]] : []),
      timestamp: TIME + BigInt(n),
    };
  }

  async #fetch(): Promise<void> {
    const random = this.#random;
    const partition = this.#partition();
    const from = { partition, offset: random.between(0, this.#endOf(partition) + 1), maxWaitMs: WAIT_MS };
    const isUnknown = random.chance(0.1);
    const fault = random.chance(0.2) ? random.pick(['half', 'pieces', 'lost'] as const) : undefined;
    const how = { line: this.#line(), fault };
    if (random.chance(0.5))
      return this.#both.ask('fetch', () => kafkajs.fetch(isUnknown ? UNKNOWN_TOPIC : this.#topic, from), how);
    await this.#both.ask(
      'fetch',
      ({ topicId }) => platformatic.fetch(isUnknown ? UNKNOWN_ID : topicId, from),
      how,
    );
  }

  #list(): Promise<void> {
    const random = this.#random;
    const topic = random.chance(0.1) ? UNKNOWN_TOPIC : this.#topic;
    const partition = this.#partition();
    const at = random.pick([OLDEST, END]);
    const { listOffsets } = random.pick([kafkajs, platformatic]);
    return this.#both.ask('list offsets', () => listOffsets(topic, partition, at), { line: this.#line() });
  }

  /** What the model understands is part of what the broker does. */
  async #versions(): Promise<void> {
    const [model, kafka] = await Promise.all(
      this.#both.sides.map(async (side) => (await side.ask(platformatic.apiVersions())) as Versions),
    );
    for (const { apiKey, minVersion, maxVersion } of model?.apiKeys ?? []) {
      const range = kafka?.apiKeys.find((one) => one.apiKey === apiKey);
      const isPart = range && range.minVersion <= minVersion && range.maxVersion >= maxVersion;
      if (!isPart)
        this.#both.note({ path: `versions of ${apiKey}`, kafka: range, model: [minVersion, maxVersion] });
    }
  }

  #metadata(): Promise<void> {
    const random = this.#random;
    if (random.chance(0.1)) return this.#versions();
    const topics = random.pick([[this.#topic], [UNKNOWN_TOPIC], [this.#topic, UNKNOWN_TOPIC]]);
    const { metadata } = random.pick([kafkajs, platformatic]);
    return this.#both.ask('metadata', () => metadata(topics), { line: this.#line() });
  }
}

type Listed = { readonly topics: readonly { readonly partitions: readonly { readonly offset: bigint }[] }[] };
type Versions = {
  readonly apiKeys: readonly {
    readonly apiKey: number;
    readonly minVersion: number;
    readonly maxVersion: number;
  }[];
};
