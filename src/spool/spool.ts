import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { VerifiedDelivery } from '../core/delivery.ts';
import { HooklineError } from '../core/errors.ts';
import type { SealingKeys } from '../crypto/sealing.ts';
import type { Clock, Timer } from '../runtime/clock.ts';
import { WorkerCalls, type WorkerDeps } from '../runtime/worker-calls.ts';
import { FILE_NAME, LOG_NAME } from './database.ts';
import {
  LATE_AFTER_MS,
  type ReadLimits,
  type SpoolAnswer,
  type SpooledDelivery,
  type SpoolRequest,
  type SpoolState,
  type ThreadOptions,
  toDelivery,
  toRow,
} from './spool-row.ts';

/** A full or failing spool is probed this often: without a webhook nobody would notice that it works again. */
const PROBE_EVERY_MS = 1_000;

/** A disk that has answered at none of so many looks, such as one behind a network that is gone, counts as failing. */
const SILENT_LOOKS = 10;
const LOOK_EVERY_MS = 1_000;

/** The calls to the thread that owns the file. */
export type SpoolCalls = Pick<
  WorkerCalls<SpoolRequest, SpoolAnswer, SpoolState>,
  'call' | 'close' | 'terminate' | 'isEnded'
>;

export type SpoolOptions = ThreadOptions & {
  readonly clock: Clock;
  /** Starts the thread; unset, one of Node's. A simulation starts none. */
  readonly startThread?: (deps: WorkerDeps<SpoolState>) => SpoolCalls;
  /** Called when the thread ends by itself: nothing can be appended any more. */
  readonly onDeath: (error: Error) => void;
};

const startWorker = (deps: WorkerDeps<SpoolState>): SpoolCalls => new WorkerCalls(deps);

/** Where these succeed, there may be no space all the same. */
const READS: ReadonlySet<SpoolRequest['kind']> = new Set(['read', 'readable', 'count-late']);

const EMPTY: SpoolState = {
  rows: 0,
  bytes: 0,
  oldestAt: null,
  keyMissing: 0,
  unproven: 0,
  isDamaged: false,
  damagedCopy: null,
  late: 0,
};

/** Whether the folder has a spool, or a log that has lost its database; opening one would create it. */
export const hasSpool = (dir: string): boolean =>
  [FILE_NAME, LOG_NAME].some((name) => existsSync(join(dir, name)));

/** The durable first-in-first-out queue of verified deliveries. A thread of its own owns its file. */
export class Spool {
  readonly #thread: SpoolCalls;
  readonly #clock: Clock;
  readonly #countListeners: (() => void)[] = [];
  readonly #renewalListeners: (() => void)[] = [];
  #keyRenewals = 0;
  /** Other keys are in use as soon as the file is opened again. */
  #isRenewalAwaited = false;
  #state = EMPTY;
  #appending = 0;
  #trouble: HooklineError | null = null;
  #probing: Timer | undefined;
  /** Calls that are not answered, and how often we have looked since the last answer. Not a time: this process may stand still. */
  #pending = 0;
  #silentLooks = 0;
  #watching: Timer | undefined;

  private constructor({ onDeath, clock, startThread = startWorker, ...options }: SpoolOptions) {
    this.#clock = clock;
    this.#thread = startThread({
      program: new URL('./spool-thread.ts', import.meta.url),
      options: {
        workerData: options satisfies ThreadOptions,
        // The module is no longer experimental in later versions of Node; this one warns at each start.
        execArgv: ['--disable-warning=ExperimentalWarning'],
      },
      onEvent: (state) => {
        this.#state = state;
        for (const listener of this.#countListeners) listener();
      },
      onDeath,
      failure: (cause) => new HooklineError('SPOOL_FAILING', cause ? undefined : 'it is closed', { cause }),
    });
  }

  /**
   * Opens the folder's spool, creates it if there is none, and owns it until `close`.
   * @throws HooklineError SPOOL_IN_USE, SPOOL_INVALID, SPOOL_FAILING, SPOOL_FULL
   */
  static async open(options: SpoolOptions): Promise<Spool> {
    const spool = new Spool(options);
    try {
      await spool.#call({ kind: 'open' });
      // What an earlier process left may be late, and drained before anybody counts again. Where it fails, that count has it.
      if (spool.#state.rows > 0) await spool.countLate(spool.#clock.wall() - LATE_AFTER_MS).catch(() => {});
      return spool;
    } catch (error) {
      spool.#probing?.cancel();
      await spool.#thread.terminate();
      throw error;
    }
  }

  /**
   * Resolves when the delivery is on the disk, synced. Appends are stored in the order of the calls.
   * @throws HooklineError SPOOL_FULL: it is not stored; SPOOL_FAILING: it may be stored, as the disk has failed. Where the disk
   *   does not answer, what comes is refused; what came before waits: the thread may be reading its body.
   */
  async append(delivery: VerifiedDelivery): Promise<void> {
    const silence = this.#silence();
    if (silence) throw silence;
    this.#appending++;
    try {
      await this.#call({ kind: 'append', row: toRow(delivery) });
    } finally {
      this.#appending--;
    }
  }

  /** The oldest deliveries within the limits, in order; one whatever `maxBytes`, if there is any. */
  async read(limits: ReadLimits): Promise<SpooledDelivery[]> {
    const { rows = [] } = await this.#call({ kind: 'read', limits });
    return rows.map(toDelivery);
  }

  /** Those of these rows that are there and that a sealing key opens. */
  async readable(ids: readonly number[]): Promise<ReadonlySet<number>> {
    return new Set((await this.#call({ kind: 'readable', ids })).ids);
  }

  async remove(ids: readonly number[]): Promise<void> {
    await this.#call({ kind: 'remove', ids });
  }

  /** Adds to `state.late` what was received before this time (milliseconds since 1970) and has not been counted yet. */
  async countLate(before: number): Promise<void> {
    await this.#call({ kind: 'count-late', before });
  }

  /** Seals with these keys from now on, and opens what they open. What was sealed before and they do not open stays. */
  async renewKeys(sealingKeys: SealingKeys): Promise<void> {
    try {
      await this.#call({ kind: 'renew-keys', sealingKeys });
    } catch (error) {
      // The thread has them, and opens the file with them as soon as that works.
      this.#isRenewalAwaited = true;
      throw error;
    }
    this.#noteRenewal();
  }

  /** Calls `listener` whenever other keys have come into use: rows may have become readable, or be so no longer. */
  onKeysRenewed(listener: () => void): void {
    this.#renewalListeners.push(listener);
  }

  /** Calls `listener` whenever the thread has told its numbers: a file that is opened again may have rows that nobody drains. */
  onCounted(listener: () => void): void {
    this.#countListeners.push(listener);
  }

  #noteRenewal(): void {
    this.#isRenewalAwaited = false;
    this.#keyRenewals++;
    for (const listener of this.#renewalListeners) listener();
  }

  /** How often other keys came into use: with each, rows may have become readable that stand before others. */
  get keyRenewals(): number {
    return this.#keyRenewals;
  }

  /** The content of the spool at the thread's last answer. */
  get state(): SpoolState {
    return this.#state;
  }

  /** Deliveries that are still to be published: those on the disk whose key is known, and those being appended. */
  get outstanding(): number {
    return this.#state.rows - this.#state.keyMissing + this.#appending;
  }

  /** Why nothing can be stored now, or null. */
  get trouble(): string | null {
    return (this.#silence() ?? this.#trouble)?.message ?? null;
  }

  async close(): Promise<void> {
    this.#probing?.cancel();
    this.#watching?.cancel();
    await this.#thread.close({ kind: 'close' });
  }

  async #call(request: SpoolRequest): Promise<SpoolAnswer> {
    this.#beginCall();
    try {
      const answer = await this.#thread.call(request);
      if (!READS.has(request.kind)) this.#trouble = null;
      if (this.#isRenewalAwaited && request.kind !== 'renew-keys') this.#noteRenewal();
      return answer;
    } catch (error) {
      if (!this.#thread.isEnded) this.#noteTrouble(error as HooklineError);
      throw error;
    } finally {
      this.#pending--;
      this.#silentLooks = 0;
    }
  }

  #beginCall(): void {
    if (this.#pending++ > 0) return;
    this.#silentLooks = 0;
    this.#watching ??= this.#clock.every(LOOK_EVERY_MS, () => this.#look(), { ref: false });
  }

  #look(): void {
    this.#silentLooks++;
    if (this.#pending > 0) return;
    this.#watching?.cancel();
    this.#watching = undefined;
  }

  #silence(): HooklineError | null {
    if (this.#pending === 0 || this.#silentLooks < SILENT_LOOKS) return null;
    return new HooklineError('SPOOL_FAILING', 'its disk does not answer');
  }

  #noteTrouble(error: HooklineError): void {
    this.#trouble = error;
    const probe = () => {
      this.#probing = undefined;
      // #call notes a failure, which starts the next probe.
      this.#call({ kind: 'probe' }).catch(() => {});
    };
    this.#probing ??= this.#clock.after(PROBE_EVERY_MS, probe, { ref: false });
  }
}
