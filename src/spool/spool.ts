import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { VerifiedDelivery } from '../core/delivery.ts';
import { HooklineError } from '../core/errors.ts';
import { FILE_NAME } from './database.ts';
import {
  type Answer,
  OPENED,
  type ReadLimits,
  type Report,
  type Request,
  type SpooledDelivery,
  type SpoolState,
  type StoredRow,
  type ThreadOptions,
  toDelivery,
  toRow,
} from './spool-row.ts';

type Waiting = {
  readonly kind: Request['kind'];
  resolve(rows: readonly StoredRow[]): void;
  reject(error: Error): void;
};

/** How often a spool that is full or fails is looked at: without a webhook nobody would notice that it works again. */
const PROBE_EVERY_MS = 1_000;
const EMPTY: SpoolState = { rows: 0, bytes: 0, oldestAt: null, keyMissing: 0 };

/** Whether there is a spool in this folder: opening would make one. */
export const hasSpool = (dir: string): boolean => existsSync(join(dir, FILE_NAME));

/** The durable queue of verified deliveries, first in, first out; its file is in a thread of its own. */
export class Spool {
  readonly #thread: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #outbox: Request[] = [];
  #n = OPENED;
  #state = EMPTY;
  #appending = 0;
  #trouble: HooklineError | null = null;
  #probing: NodeJS.Timeout | undefined;
  #ended = false;

  private constructor(options: ThreadOptions & { onDeath: (error: Error) => void }) {
    const { onDeath, ...threadOptions } = options;
    this.#thread = new Worker(new URL('./spool-thread.ts', import.meta.url), {
      workerData: threadOptions satisfies ThreadOptions,
      // The module is no longer an experiment in later Nodes; this one says so at each start.
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    this.#thread.on('message', (report: Report) => this.#take(report));
    this.#thread.on('error', (error) => this.#die(error, onDeath));
    this.#thread.on('exit', () => this.#die(new Error("the spool's thread ended"), onDeath));
  }

  /**
   * Opens the folder's spool, makes it where there is none, and owns it until `close`.
   * @param onDeath told when its thread ended by itself: nothing can be appended any more
   * @throws HooklineError SPOOL_IN_USE, SPOOL_INVALID, SPOOL_FAILING, SPOOL_FULL
   */
  static async open(options: ThreadOptions & { onDeath: (error: Error) => void }): Promise<Spool> {
    const spool = new Spool(options);
    await new Promise((resolve, reject) =>
      spool.#waiting.set(OPENED, { kind: 'open', resolve, reject }),
    ).catch((error) => {
      spool.#ended = true;
      void spool.#thread.terminate();
      throw error;
    });
    return spool;
  }

  /**
   * Resolves when the delivery is on the disk, synced. Appends are stored in the order of the calls.
   * @throws HooklineError SPOOL_FULL, SPOOL_FAILING: it is not there, or, after a failure of the disk, may be
   */
  async append(delivery: VerifiedDelivery): Promise<void> {
    this.#appending++;
    try {
      const row = toRow(delivery);
      await this.#ask((n) => ({ kind: 'append', n, row }));
    } finally {
      this.#appending--;
    }
  }

  /** The oldest deliveries, or the oldest behind one, in order; at least one, where there is one. */
  async read(limits: ReadLimits): Promise<SpooledDelivery[]> {
    const rows = await this.#ask((n) => ({ kind: 'read', n, limits }));
    return rows.map(toDelivery);
  }

  async remove(ids: readonly number[]): Promise<void> {
    await this.#ask((n) => ({ kind: 'remove', n, ids }));
  }

  /** What the disk has, as of the last answer. */
  get state(): SpoolState {
    return this.#state;
  }

  /** Deliveries on the disk whose key is here, and those on their way to it. */
  get outstanding(): number {
    return this.#state.rows - this.#state.keyMissing + this.#appending;
  }

  /** Why nothing can be stored now, or null. */
  get trouble(): string | null {
    return this.#trouble?.message ?? null;
  }

  async close(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    const exit = new Promise((resolve) => this.#thread.once('exit', resolve));
    await this.#ask((n) => ({ kind: 'close', n }), true);
    await exit;
  }

  /** Requests of one turn of the event loop cross together. */
  #ask(make: (n: number) => Request, closing = false): Promise<readonly StoredRow[]> {
    if (this.#ended && !closing) return Promise.reject(new HooklineError('SPOOL_FAILING', 'it is closed'));
    const request = make(++this.#n);
    if (this.#outbox.push(request) === 1) setImmediate(() => this.#post());
    return new Promise((resolve, reject) =>
      this.#waiting.set(request.n, { kind: request.kind, resolve, reject }),
    );
  }

  #post(): void {
    const requests = this.#outbox;
    this.#outbox = [];
    this.#thread.postMessage(requests);
  }

  #take({ answers, state }: Report): void {
    if (state) this.#state = state;
    for (const answer of answers) this.#settle(answer);
  }

  #settle({ n, rows = [], fault }: Answer): void {
    const waiting = this.#waiting.get(n);
    this.#waiting.delete(n);
    if (fault) {
      this.#trouble = new HooklineError(fault.code, fault.detail);
      this.#probeLater();
      waiting?.reject(this.#trouble);
    } else {
      // That it can be read doesn't say that there is room.
      if (waiting?.kind !== 'read') this.#trouble = null;
      waiting?.resolve(rows);
    }
  }

  #probeLater(): void {
    this.#probing ??= setTimeout(() => {
      this.#probing = undefined;
      // Its failure is the trouble, and brings the next look.
      this.#ask((n) => ({ kind: 'probe', n })).catch(() => {});
    }, PROBE_EVERY_MS).unref();
  }

  #die(error: Error, onDeath: (error: Error) => void): void {
    const failure = new HooklineError('SPOOL_FAILING', undefined, { cause: error });
    for (const { reject } of this.#waiting.values()) reject(failure);
    this.#waiting.clear();
    if (this.#ended) return;
    this.#ended = true;
    onDeath(error);
  }
}
