import type { IncomingRecord } from '../../src/core/record.ts';
import type { Fetched } from '../../src/kafka/consume/read-answer.ts';
import type { TopicFetcher } from '../../src/kafka/consume/topic-fetcher.ts';

const MAX_WAIT_MS = 20;

/** A topic in memory whose brokers do what a test tells them. */
export class ScriptedTopic {
  topicId = 'first';
  /** By partition: what it holds. */
  readonly logs: IncomingRecord[][];
  readonly oldest: bigint[];
  /** By partition, the broker that leads it. */
  leaders: (number | undefined)[];
  /** Taken by the next fetches of a broker: each rejects with one of them. */
  readonly failures = new Map<number, Error[]>();
  lookUpFailures: Error[] = [];
  /** At most so many records in an answer. */
  atOnce = 2;
  lookUps = 0;
  isClosed = false;

  constructor(leaders: readonly number[]) {
    this.leaders = [...leaders];
    this.logs = leaders.map(() => []);
    this.oldest = leaders.map(() => 0n);
  }

  append(partition: number, ...values: readonly string[]): void {
    const log = this.logs[partition] as IncomingRecord[];
    for (const value of values)
      log.push({
        topic: 't',
        partition,
        offset: BigInt(log.length),
        key: null,
        value: Buffer.from(value),
        headers: {},
        timestamp: 1_000 * log.length,
      });
  }

  end = (partition: number): bigint => BigInt(this.logs[partition]?.length ?? 0);

  open = (): TopicFetcher => ({
    lookUp: async () => {
      this.lookUps++;
      const failure = this.lookUpFailures.shift();
      if (failure) throw failure;
      return { topicId: this.topicId, leaders: this.leaders };
    },
    offsets: async (at) => {
      const of = (partition: number) => {
        if (at === 'oldest') return this.oldest[partition] ?? 0n;
        if (at === 'end') return this.end(partition);
        const found = this.logs[partition]?.find(({ timestamp }) => timestamp >= at);
        return found?.offset ?? this.end(partition);
      };
      return new Map(this.leaders.map((_, partition) => [partition, of(partition)]));
    },
    fetch: (node, from) => this.#fetch(node, from),
    close: () => {
      this.isClosed = true;
    },
  });

  async #fetch(node: number, from: ReadonlyMap<number, bigint>): Promise<Fetched[]> {
    await new Promise((resolve) => setTimeout(resolve, 1));
    const failure = this.failures.get(node)?.shift();
    if (failure) throw failure;
    for (const [partition, at] of from) {
      if (this.leaders[partition] !== node) throw answer('NOT_LEADER_OR_FOLLOWER');
      if (at < (this.oldest[partition] ?? 0n) || at > this.end(partition))
        throw answer('OFFSET_OUT_OF_RANGE');
    }
    const found = [...from].flatMap(([partition, at]) => {
      const records = this.logs[partition]?.slice(Number(at), Number(at) + this.atOnce) ?? [];
      return records.length > 0 ? [{ partition, records, next: at + BigInt(records.length) }] : [];
    });
    if (found.length === 0) await new Promise((resolve) => setTimeout(resolve, MAX_WAIT_MS));
    return found;
  }
}

/** As the client reports what a broker answers. */
export const answer = (apiId: string): Error =>
  Object.assign(new Error(`the broker says ${apiId}`), { apiId });
