import type { IncomingRecord } from '../core/record.ts';

/**
 * Which records of the `subscriptions` topic count. Control's processes take turns in writing it, each under an epoch of
 * its own (the header `hookline.epoch`; a record without it has epoch 0), and one that was frozen may write
 * long after another has taken over. The rule for every reader, by partition: a record of a lower epoch that comes after
 * a higher one does not count.
 *
 * A process claims its epoch N before it writes (control/claim-state.ts): the key `#epoch`, in every partition. Why this is
 * enough:
 * - One writer for each epoch. A claim succeeds only if in every partition it is the first record of N, and no higher one
 *   is before it. A partition has one order, so of two processes that claim the same N at most one succeeds.
 * - A fixed beginning. When a process has read its claim back, its table has every record that counts before it, and
 *   behind it no record of an earlier process counts, whatever its ref: therefore each partition has a claim.
 * - A late claim does not count. A frozen process claims one more than it had seen, which is at most the epoch of its
 *   successor: it does not raise the epoch, and is not the first.
 * - Compaction keeps the latest record of a key, which may be one that does not count. The process therefore writes
 *   its own value again behind each such record, also behind those that it finds when it claims. It has the value in
 *   memory. Behind a late claim it repeats its own: without that another process could hold the same epoch. Until it is
 *   written again, compaction must keep the older record: it does so in the active segment, and for
 *   `min.compaction.lag.ms`. Behind the repeated value, earlier records of the key do not matter any more, so the next
 *   claim may replace this one.
 * - What another topic of the same name lacks is not gone: readers keep what they know, and a process that claims writes it
 *   there again. Where another process may have worked on the new topic before, it may have removed what is missing: then it is dropped.
 * - What is read anew may say something else: of two claims the first may be compacted away, and another topic of the same
 *   name begins at epoch 0. A process whose table is rewound therefore holds nothing, and claims a higher epoch: higher than all of
 *   the earlier topic too, as a late record of an earlier process may land in the new one.
 * Command results and dead-letter records are not fenced: results are identified by their commandId, and the first counts.
 */
export const EPOCH_KEY = '#epoch';
export const EPOCH_HEADER = 'hookline.epoch';
/** Identifies the process that claims, so that it recognises its own claim. */
export const CLAIM_HEADER = 'hookline.claim';

/** Fifteen digits, which a number represents exactly. No epoch can be claimed beyond it. */
export const MAX_EPOCH = 999_999_999_999_999;

/** What a record of the topic is for a reader: a ref's state, one that does not count, or a claim. */
export type StateVerdict = 'counts' | 'fenced' | 'own';

type Epoch = { readonly epoch: number; readonly claim: string | null };

const NONE: Epoch = { epoch: 0, claim: null };

/** Decides which records of the topic count. Records come in the order of their partition; a repeated one gives the same answer. */
export class StateFence {
  readonly #partitions = new Map<number, Epoch>();
  /** By ref, the partition. */
  readonly #overwritten = new Map<string, number>();
  /** Where the latest claim, the one that compaction keeps, does not count. */
  readonly #lateClaims = new Set<number>();
  /** By ref, the partition of its latest record that counts. */
  readonly #seen = new Map<string, number>();
  readonly #missing = new Set<string>();
  #highest = 0;
  #highestEver = 0;
  #rewinds = 0;

  check({ partition, key, headers }: Pick<IncomingRecord, 'partition' | 'key' | 'headers'>): StateVerdict {
    const ref = key?.toString() ?? '';
    const epoch = epochOf(headers[EPOCH_HEADER]);
    const claim = headers[CLAIM_HEADER] ?? null;
    const { epoch: highest, claim: held } = this.#partitions.get(partition) ?? NONE;
    if (epoch > highest) this.#partitions.set(partition, { epoch, claim });
    this.#highest = Math.max(this.#highest, epoch);
    this.#highestEver = Math.max(this.#highestEver, this.#highest);
    const isLate = epoch < highest || (epoch === highest && held !== null && held !== claim);
    if (ref === EPOCH_KEY) this.#lateClaims[isLate ? 'add' : 'delete'](partition);
    if (ref.startsWith('#')) return 'own';
    if (epoch < highest) {
      this.#overwritten.set(ref, partition);
      return 'fenced';
    }
    this.#overwritten.delete(ref);
    this.#missing.delete(ref);
    this.#seen.set(ref, partition);
    return 'counts';
  }

  /** The partition's records come from its beginning again, perhaps of another topic of the same name. */
  rewind(partition: number): void {
    this.#rewinds++;
    this.#partitions.delete(partition);
    this.#highest = Math.max(0, ...[...this.#partitions.values()].map(({ epoch }) => epoch));
    this.#lateClaims.delete(partition);
    for (const [ref, of] of this.#overwritten) if (of === partition) this.#overwritten.delete(ref);
    for (const [ref, of] of this.#seen) if (of === partition) this.#missing.add(ref);
    for (const ref of this.#missing) this.#seen.delete(ref);
  }

  highest(): number {
    return this.#highest;
  }

  /** The next epoch to claim; it is above MAX_EPOCH where the topic leaves none. One of an earlier topic that leaves none is forgotten. */
  next(): number {
    return (this.#highestEver < MAX_EPOCH ? this.#highestEver : this.#highest) + 1;
  }

  /** The latest claims that count, those of several partitions once. */
  claims(): ReadonlySet<string | null> {
    return new Set([...this.#partitions.values()].map(({ claim }) => claim));
  }

  /** Whether this claim is the first record of its epoch in all these partitions, and no higher one has come since. */
  isHeld(partitions: readonly number[], { epoch, claim }: { epoch: number; claim: string }): boolean {
    return partitions.every((partition) => {
      const seen = this.#partitions.get(partition) ?? NONE;
      return seen.epoch === epoch && seen.claim === claim;
    });
  }

  /** How often a partition was read from its beginning again. */
  get rewinds(): number {
    return this.#rewinds;
  }

  /** Partitions whose latest claim does not count. */
  get lateClaims(): ReadonlySet<number> {
    return this.#lateClaims;
  }

  /** Refs whose latest record, the one that compaction keeps, does not count. */
  overwritten(): readonly string[] {
    return [...this.#overwritten.keys()];
  }

  isOverwritten(ref: string): boolean {
    return this.#overwritten.has(ref);
  }

  /** Refs that had a record before their partition was rewound, and have not had one since. */
  missing(): readonly string[] {
    return [...this.#missing];
  }

  isMissing(ref: string): boolean {
    return this.#missing.has(ref);
  }

  dropMissing(): void {
    this.#missing.clear();
  }
}

/** The epoch in a header; 0 for anything else than a number up to {@link MAX_EPOCH}. */
function epochOf(text: string | undefined): number {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : 0;
}
