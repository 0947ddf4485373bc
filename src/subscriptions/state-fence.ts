import type { IncomingRecord } from '../core/record.ts';

/**
 * Which records of the `subscriptions` topic count. Control's processes take turns in writing it, each under an epoch of
 * its own (the header `hookline.epoch`; a record without it has epoch 0), and one that was frozen may write when
 * another has long taken its place. The rule for every reader, by partition: a record of a lower epoch that comes after a
 * higher one does not count.
 *
 * A process claims its epoch N before it writes (control/claim-state.ts): the key `#epoch`, in every partition. Why that
 * is enough:
 * - One writer for each epoch. A claim holds only if in every partition it is the first record of N, and nothing higher
 *   stood before it. A partition has one order, so of two processes that claim the same N at most one succeeds.
 * - A fixed beginning. When the claim has been read back, what counts before it is in the claimant's table, and no record
 *   of an earlier process can count any more behind it, whichever ref it is of: so there is a claim in each partition.
 * - A late claim is harmless. A frozen process claims one more than it had seen, which is at most what its
 *   successor claimed: it raises nothing, and is not first.
 * - Compaction keeps the latest record of a key, which may be one that does not count. The claimant therefore writes
 *   its own value again behind each such record, those included that it finds when it claims. It has the value in memory
 *   from before; and until it is written again compaction has to leave the older one, as it does with the segment that is
 *   being written, and for `min.compaction.lag.ms`. Behind its own value no earlier record of the key is left to count
 *   or not, so the next claim may take the place of this one.
 * Command results and dead-letter records are not fenced: results are identified by their commandId, and the first counts.
 */
export const EPOCH_KEY = '#epoch';
export const EPOCH_HEADER = 'hookline.epoch';
/** Names the process that claims: it knows its own claim by it. */
export const CLAIM_HEADER = 'hookline.claim';

/** Fifteen digits, which a number holds exactly. Nothing can be claimed behind it. */
export const MAX_EPOCH = 999_999_999_999_999;

/** What a record of the topic is to a reader: of a ref, not to be counted, or the topic's own bookkeeping. */
export type StateVerdict = 'counts' | 'fenced' | 'own';

type Epoch = { readonly epoch: number; readonly claim: string | null };

const NONE: Epoch = { epoch: 0, claim: null };

/** Judges a topic's records, which are handed over in each partition's order. The same record twice is judged the same. */
export class StateFence {
  readonly #partitions = new Map<number, Epoch>();
  readonly #overwritten = new Set<string>();

  judge({ partition, key, headers }: Pick<IncomingRecord, 'partition' | 'key' | 'headers'>): StateVerdict {
    const ref = key?.toString() ?? '';
    const epoch = epochOf(headers[EPOCH_HEADER]);
    const highest = this.epochOf(partition);
    if (epoch > highest) this.#partitions.set(partition, { epoch, claim: headers[CLAIM_HEADER] ?? null });
    if (ref.startsWith('#')) return 'own';
    if (epoch < highest) {
      this.#overwritten.add(ref);
      return 'fenced';
    }
    this.#overwritten.delete(ref);
    return 'counts';
  }

  /** The epoch that a partition's next record must have at least. */
  epochOf(partition: number): number {
    return (this.#partitions.get(partition) ?? NONE).epoch;
  }

  highest(): number {
    return Math.max(0, ...[...this.#partitions.values()].map(({ epoch }) => epoch));
  }

  /** Whether this claim was the first record of its epoch in all these partitions, and nothing higher has come since. */
  isHeld(partitions: readonly number[], { epoch, claim }: { epoch: number; claim: string }): boolean {
    return partitions.every((partition) => {
      const seen = this.#partitions.get(partition) ?? NONE;
      return seen.epoch === epoch && seen.claim === claim;
    });
  }

  /** Refs whose latest record does not count: compaction would keep that one. */
  overwritten(): readonly string[] {
    return [...this.#overwritten];
  }

  isOverwritten(ref: string): boolean {
    return this.#overwritten.has(ref);
  }
}

/** Anything but a number of up to {@link MAX_EPOCH} is as good as none. */
function epochOf(text: string | undefined): number {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : 0;
}
