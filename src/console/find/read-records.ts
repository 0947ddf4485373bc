import type { IncomingRecord } from '../../core/record.ts';
import { rangesOf } from '../../dead-letters/dead-letter-topic.ts';
import { type OffsetRange, openRanges, type RangeReader } from '../../kafka/consume/range-reader.ts';
import type { OpenTopic } from '../../kafka/consume/topic-fetcher.ts';
import type { Clock } from '../../runtime/clock.ts';

export type RecordPosition = { readonly partition: number; readonly offset: number };

/** Topics that are kept open for the next search. */
const MAX_OPEN = 20;

/** Reads single records, and ranges. Topics stay open, as opening one takes longer than reading. */
export class RecordsReader {
  readonly #openTopic: OpenTopic;
  readonly #clock: Clock;
  readonly #open = new Map<string, Promise<RangeReader>>();
  #last: Promise<unknown> = Promise.resolve();

  constructor({ openTopic, clock }: { readonly openTopic: OpenTopic; readonly clock: Clock }) {
    this.#openTopic = openTopic;
    this.#clock = clock;
  }

  /** The records that are still there. One call after the other. */
  async read(topic: string, positions: readonly RecordPosition[]): Promise<IncomingRecord[]> {
    const wanted = new Set(positions.map(positionText));
    const found: IncomingRecord[] = [];
    const passes = rangesOf(
      positions.map(({ partition, offset }) => ({ partition, offset: BigInt(offset) })),
    );
    await this.readRanges(topic, passes, (record) => {
      if (wanted.has(positionText(record))) found.push(record);
    });
    return found;
  }

  /** Hands over the records of some passes over the topic. */
  readRanges(
    topic: string,
    passes: readonly (readonly OffsetRange[])[],
    onRecord: (record: IncomingRecord) => void,
  ): Promise<void> {
    const reading = this.#last.then(() => this.#read(topic, passes, onRecord));
    this.#last = reading.catch(() => {});
    return reading;
  }

  async stop(): Promise<void> {
    const open = [...this.#open.keys()];
    await Promise.all(open.map((topic) => this.#close(topic)));
  }

  async #read(
    topic: string,
    passes: readonly (readonly OffsetRange[])[],
    onRecord: (record: IncomingRecord) => void,
  ): Promise<void> {
    try {
      const reader = await this.#opened(topic);
      for (const ranges of passes) await reader.read(ranges, onRecord);
    } catch (error) {
      // It may be another topic of the same name by now.
      await this.#close(topic);
      throw error;
    }
  }

  #opened(topic: string): Promise<RangeReader> {
    const known = this.#open.get(topic);
    if (known) return known;
    const [oldest] = this.#open.keys();
    if (oldest !== undefined && this.#open.size >= MAX_OPEN) void this.#close(oldest);
    const opening = openRanges({ openTopic: this.#openTopic, clock: this.#clock, topic });
    this.#open.set(topic, opening);
    return opening;
  }

  async #close(topic: string): Promise<void> {
    const opened = this.#open.get(topic);
    this.#open.delete(topic);
    await opened?.then((reader) => reader.stop()).catch(() => {});
  }
}

const positionText = ({ partition, offset }: { partition: number; offset: number | bigint }) =>
  `${partition}:${offset}`;
