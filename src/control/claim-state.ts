import { HooklineError } from '../core/errors.ts';
import { type Lease, leaseOf } from '../core/lease.ts';
import { EPOCH_KEY, MAX_EPOCH } from '../subscriptions/state-fence.ts';
import type { SubscriptionTable } from '../subscriptions/state-topic.ts';
import type { ControlRecords, StateLease } from './operations/operation.ts';

/**
 * This process's right to write the state: an epoch that it claims when it starts to work, and again when another process
 * has claimed a higher one since, or the topic is read from its beginning again. Why it fences earlier processes:
 * subscriptions/state-fence.ts.
 */
export type StateClaim = {
  /**
   * The lease to write the state under, once an epoch is held. Its `check` fails with STATE_FENCED as soon as another epoch
   * has been claimed, by any process, or must be: what was read before may be out of date, and the command starts again.
   */
  acquire(lease: Lease): Promise<StateLease>;
  /** The process works until the lease ends; or, null, it stands by. */
  working(lease: Lease | null): void;
};

export type StateClaimDeps = {
  readonly table: Pick<
    SubscriptionTable,
    'get' | 'caughtUp' | 'partitions' | 'fence' | 'onFenced' | 'dropMissing'
  >;
  readonly records: Pick<ControlRecords, 'storeClaim' | 'restoreSubscription'>;
  readonly newId: () => string;
  readonly onClaimed: (epoch: number) => void;
  /** A record of an earlier process came late; what it has overwritten is written again. */
  readonly onFenced: (ref: string) => void;
  /** The topic lacks so many records that this process has read of it before; they are written there again. */
  readonly onMissing: (count: number) => void;
  /** It lacks them, and another process may have removed them there: this one does not know them any more. */
  readonly onDropped: (count: number) => void;
  readonly onFailure: (error: unknown) => void;
};

const FORGED =
  'no control process claims so many: find out who else can write to the subscriptions topic, and remove that record';

/** Two processes that both believe to work would answer each other without end; the next command claims all the same. */
const MAX_ANSWERED = 3;

/** A topic that was created anew lacks every ref's record. */
const RESTORED_AT_ONCE = 32;

type Held = { readonly epoch: number; readonly claim: string; readonly rewinds: number };

export function claimState(deps: StateClaimDeps): StateClaim {
  const { table, records } = deps;
  const { fence } = table;
  let held: Held | undefined;
  /** How often a record that does not count may have stayed the latest of its key, and how much of that is repaired. */
  let left = 1;
  let restored = 0;
  let isRefused = false;
  /** What this process has ever claimed with. */
  const ownClaims = new Set<string | null>();
  let claiming: { readonly by: Lease; readonly done: Promise<void> } | undefined;
  let working = leaseOf(new AbortController().signal);
  /** Higher claims in this lease after which this process has claimed again. */
  let answered = 0;

  /** Another process may have worked since the topic was made anew. */
  const othersWorked = () => held === undefined && [...fence.claims()].some((claim) => !ownClaims.has(claim));

  const refused = (error: unknown) => {
    isRefused = true;
    deps.onFailure(error);
  };

  const isHeld = (one: Held | undefined) =>
    one !== undefined && one === held && one.rewinds === fence.rewinds && fence.highest() <= one.epoch;
  const under = (lease: Lease, own: Held): StateLease => ({
    epoch: own.epoch,
    signal: lease.signal,
    check() {
      lease.check();
      if (!isHeld(own)) throw new HooklineError('STATE_FENCED', `epoch ${own.epoch}`);
    },
  });

  const repeatClaims = async (lease: StateLease) => {
    const mine = held as Held;
    await table.caughtUp(lease.signal);
    if (!isHeld(mine)) return;
    await Promise.all([...fence.lateClaims].map((partition) => records.storeClaim(partition, mine, lease)));
  };

  const restoreRecord = (ref: string, lease: StateLease) =>
    records.restoreSubscription(
      ref,
      async () => {
        await table.caughtUp(lease.signal);
        if (fence.isOverwritten(ref)) return table.get(ref) ?? null;
        return fence.isMissing(ref) ? table.get(ref) : undefined;
      },
      lease,
    );

  const restore = (ref: string, lease: StateLease) =>
    ref === EPOCH_KEY ? repeatClaims(lease) : restoreRecord(ref, lease);

  /** What ends with its lease is left for the next one; what cannot be written at all must delay no command. */
  const restoreAll = async (lease: StateLease) => {
    const until = left;
    const late = fence.lateClaims.size > 0 ? [EPOCH_KEY] : [];
    const missing = fence.missing().filter((ref) => table.get(ref));
    if (missing.length > 0) deps.onMissing(missing.length);
    const refs = new Set([...late, ...fence.overwritten(), ...missing]).values();
    const restoreRest = async () => {
      for (const ref of refs)
        await restore(ref, lease).catch((error) => {
          lease.check();
          refused(error);
        });
    };
    await Promise.all(Array.from({ length: RESTORED_AT_ONCE }, restoreRest));
    restored = until;
  };

  const claim = async (lease: Lease) => {
    while (!isHeld(held)) {
      await table.caughtUp(lease.signal);
      const { rewinds } = fence;
      const partitions = await table.partitions(lease.signal);
      // Readers would ignore a higher claim, and this loop would claim for ever.
      const epoch = fence.next();
      if (epoch > MAX_EPOCH)
        throw new HooklineError('STATE_FENCED', `epoch ${fence.highest()} is the last one`, {
          remedy: FORGED,
        });
      if (othersWorked()) {
        const dropped = table.dropMissing();
        if (dropped > 0) deps.onDropped(dropped);
      }
      const mine = { epoch, claim: deps.newId() };
      ownClaims.add(mine.claim);
      await Promise.all(partitions.map((partition) => records.storeClaim(partition, mine, lease)));
      await table.caughtUp(lease.signal);
      lease.check();
      if (fence.rewinds !== rewinds || !fence.isHeld(partitions, mine)) continue;
      held = { ...mine, rewinds };
      left++;
      deps.onClaimed(held.epoch);
    }
    const mine = held as Held;
    await restoreAll(under(lease, mine)).catch((error) => {
      // Read again from its beginning: `acquire` claims anew.
      if (mine.rewinds === fence.rewinds) throw error;
      lease.check();
    });
  };

  const acquire = async (lease: Lease): Promise<StateLease> => {
    if (isRefused) left++;
    isRefused = false;
    while (!isHeld(held) || restored < left) {
      lease.check();
      const running = claiming ?? { by: lease, done: claim(lease) };
      claiming = running;
      try {
        await running.done;
      } catch (error) {
        // What ended with another command's lease is tried again under this one.
        if (running.by === lease) throw error;
      } finally {
        if (claiming === running) claiming = undefined;
      }
    }
    return under(lease, held as Held);
  };

  const claimNow = () => {
    const lease = working;
    acquire(lease).catch((error) => {
      if (!lease.signal.aborted) deps.onFailure(error);
    });
  };

  table.onFenced((ref) => {
    const { signal } = working;
    if (held && !isHeld(held)) {
      // Nobody else may work while this lease holds: a higher claim is late, and of a topic that was made anew meanwhile.
      if (!signal.aborted && (held.rewinds !== fence.rewinds || answered++ < MAX_ANSWERED)) claimNow();
      return;
    }
    if (!held) return;
    if (signal.aborted) {
      left++;
      return;
    }
    deps.onFenced(ref);
    // If another process works by now, the epoch of this record says that it does not count.
    restore(ref, under(working, held as Held)).catch((error) => {
      if (signal.aborted) left++;
      else refused(error);
    });
  });

  return {
    acquire,
    working(lease) {
      if (!lease) return;
      working = lease;
      answered = 0;
      // Claims and records of another process, or of this one, may be under way: under a new epoch they come too late.
      held = undefined;
      claimNow();
    },
  };
}
