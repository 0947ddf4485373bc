import { DEAD_LETTER_STAGES } from '../core/errors.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../delivery/dead-letter/dead-letter-headers.ts';
import { DeadLetterIndex, type DeadLetterRecord, isMarker } from './dead-letters.ts';

/** What nobody has redriven or dismissed yet. */
export type OpenCount = {
  /** Deliveries and commands, by stage: every stage is there. FOREIGN: Hookline did not write the record. */
  readonly byStage: ReadonlyMap<string, number>;
  /** When the oldest was written, in milliseconds since 1970; null where none is open. */
  readonly oldestAt: number | null;
};

const FOREIGN = 'FOREIGN';

/** What joins records, and tells what became of them. Nothing else of a record is kept: no body, key or message. */
const KEPT = [
  ...[NAMES.stage, NAMES.eventId, NAMES.receivedAt, NAMES.part, NAMES.parts, NAMES.redrivenAt],
  ...[NAMES.topic, NAMES.partition, NAMES.offset, NAMES.redriveOf, NAMES.dismissalOf],
];

/** Records and markers that are held: about 25 MB of memory. */
const MAX_RECORDS = 50_000;

/**
 * Counts open dead-letter records while it follows the topic. Of more than 50,000 it holds the oldest, and the others only
 * as a number, until so many are done that {@link mustReadAgain} asks for the topic from its beginning.
 */
export class OpenDeadLetters {
  readonly #index = new DeadLetterIndex();
  readonly #max: number;
  /** By stage, what came when this was full. */
  readonly #beyond = new Map<string, number>();
  #isFull = false;

  constructor(max = MAX_RECORDS) {
    this.#max = max;
  }

  take(record: Omit<DeadLetterRecord, 'key' | 'bytes'>): void {
    const stage = stageOf(record.headers);
    if (this.#isFull && !isMarker(record)) {
      const isFirst = (record.headers[NAMES.part] ?? '1') === '1';
      if (isFirst) this.#beyond.set(stage, (this.#beyond.get(stage) ?? 0) + 1);
      return;
    }
    const { partition, offset, timestamp, headers } = record;
    const kept = KEPT.filter((name) => headers[name] !== undefined);
    const few = Object.fromEntries(kept.map((name) => [name, headers[name] ?? '']));
    this.#index.take({ partition, offset, timestamp, key: null, bytes: 0, headers: few });
    if (this.#index.size >= this.#max) this.#makeRoom();
  }

  /** @param oldest the first offset of each partition that the topic still has */
  count(oldest: ReadonlyMap<number, bigint>): OpenCount {
    this.#index.forgetBefore(oldest);
    if (this.#beyond.size > 0) this.#makeRoom();
    const byStage = new Map(
      [...DEAD_LETTER_STAGES, FOREIGN].map((stage) => [stage, this.#beyond.get(stage) ?? 0]),
    );
    let oldestAt = Number.POSITIVE_INFINITY;
    for (const { headers, time } of this.#index.unresolved()) {
      const stage = stageOf(headers);
      byStage.set(stage, (byStage.get(stage) ?? 0) + 1);
      oldestAt = Math.min(oldestAt, time);
    }
    return { byStage, oldestAt: Number.isFinite(oldestAt) ? oldestAt : null };
  }

  /** Whether some of what is open is not held, and there is room for it now. */
  get mustReadAgain(): boolean {
    return this.#beyond.size > 0 && this.#index.size < this.#max / 2;
  }

  /** Full is what stays nearly full without what is done: else it would be looked through at each record. */
  #makeRoom(): void {
    this.#index.forgetResolved();
    this.#isFull = this.#index.size > this.#max * 0.9;
  }
}

function stageOf(headers: Readonly<Record<string, string>>): string {
  const stage = headers[NAMES.stage];
  return DEAD_LETTER_STAGES.find((one) => one === stage) ?? FOREIGN;
}
