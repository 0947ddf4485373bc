import { type IncomingRecord, positionText } from '../../core/record.ts';
import {
  type OffsetRange,
  openRanges,
  type RangeReader,
  rangesOf,
} from '../../kafka/consume/range-reader.ts';
import type { OpenTopic } from '../../kafka/consume/topic-fetcher.ts';
import type { Clock } from '../../runtime/clock.ts';

export type RecordPosition = { readonly partition: number; readonly offset: number };

type Opened = { readonly reader: Promise<RangeReader>; last: Promise<unknown> };

/** Topics that are kept open: those that were read last. */
const MAX_OPEN = 20;

/** Topics that stay open for the next page, as opening one takes longer than reading. Of each topic one reading after the other. */
export class OpenTopics {
  readonly #openTopic: OpenTopic;
  readonly #clock: Clock;
  readonly #open = new Map<string, Opened>();

  constructor({ openTopic, clock }: { readonly openTopic: OpenTopic; readonly clock: Clock }) {
    this.#openTopic = openTopic;
    this.#clock = clock;
  }

  /** The records that are still there. */
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
    return this.use(topic, async (reader) => {
      for (const ranges of passes) await reader.read(ranges, onRecord);
    });
  }

  /** Lets `work` read the topic. After a failure it is opened anew: it may be another topic of the same name by now. */
  use<T>(topic: string, work: (reader: RangeReader) => Promise<T>): Promise<T> {
    const opened = this.#opened(topic);
    const reading = opened.last.then(async () => {
      try {
        return await work(await opened.reader);
      } catch (error) {
        if (this.#open.get(topic) === opened) await this.#close(topic);
        throw error;
      }
    });
    opened.last = reading.catch(() => {});
    return reading;
  }

  async stop(): Promise<void> {
    const open = [...this.#open.keys()];
    await Promise.all(open.map((topic) => this.#close(topic)));
  }

  #opened(topic: string): Opened {
    const known = this.#open.get(topic);
    if (known) {
      this.#open.delete(topic);
      this.#open.set(topic, known);
      return known;
    }
    for (const [oldest, { last }] of this.#open) {
      if (this.#open.size < MAX_OPEN) break;
      // A page may be reading it.
      void this.#close(oldest, last);
    }
    const reader = openRanges({ openTopic: this.#openTopic, clock: this.#clock, topic });
    // Who waits for it is told.
    reader.catch(() => {});
    const opened = { reader, last: Promise.resolve() };
    this.#open.set(topic, opened);
    return opened;
  }

  async #close(topic: string, last?: Promise<unknown>): Promise<void> {
    const opened = this.#open.get(topic);
    this.#open.delete(topic);
    await last;
    await opened?.reader.then((reader) => reader.stop()).catch(() => {});
  }
}
