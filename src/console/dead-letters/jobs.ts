import { outcomeRows, progressLine, summaryRows } from '../../dead-letters/outcomes.ts';
import type { DeadLetterOutcome } from '../../dead-letters/redrive-one.ts';
import type { Due } from '../../dead-letters/select-due.ts';
import type { Clock } from '../../runtime/clock.ts';

/** What a job does with a selection of dead-letter records. */
export type Order = {
  readonly kind: 'redrive' | 'dismiss';
  readonly isDry: boolean;
  /** Whether a redrive includes records that were redriven or dismissed before. */
  readonly again: boolean;
  /** Conditions as `--filter` takes them. */
  readonly filter: readonly string[];
  readonly reason: string | null;
  readonly by: string;
};

/** A job as it is shown. */
export type Job = Order & {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly status: 'running' | 'done' | 'stopped' | 'failed';
  /** Records that are selected; null until it is known. */
  readonly total: number | null;
  readonly done: number;
  /** Such as "7 of 9: 5 stored, 2 failed." */
  readonly progress: string;
  /** Outcomes by kind, once it has ended. */
  readonly summary: ReturnType<typeof summaryRows>;
  /** Of single records: the first of those that are not as was asked for. */
  readonly failures: ReturnType<typeof outcomeRows>;
  /** Those that are not among them. */
  readonly moreFailures: number;
  readonly notes: readonly string[];
};

/** How a job reports. */
export type JobReport = {
  readonly signal: AbortSignal;
  note(line: string): void;
  onSelected(selection: Due): void;
  onProgress(outcomes: readonly DeadLetterOutcome[]): void;
};

const PROGRESS_EVERY_MS = 200;
const MAX_KEPT = 50;
const MAX_NOTES = 20;
const MAX_FAILURES = 100;

/** Jobs of this console: one at a time. They go on when their page is closed, and are kept until the console stops. */
export class Jobs {
  readonly #clock: Clock;
  readonly #newId: () => string;
  readonly #jobs = new Map<string, Job>();
  readonly #stopping = new AbortController();
  #running: { readonly id: string; readonly stop: AbortController } | undefined;
  /** The latest one, and that its end was told. */
  #ended: Promise<void> = Promise.resolve();

  constructor(clock: Clock, newId: () => string) {
    this.#clock = clock;
    this.#newId = newId;
  }

  /** The newest first. */
  all = (): Job[] => [...this.#jobs.values()].reverse();

  get = (id: string): Job | undefined => this.#jobs.get(id);

  get running(): Job | undefined {
    return this.#running && this.#jobs.get(this.#running.id);
  }

  /** Starts a job; undefined while another one runs. @param onEnded called with its last state */
  start(
    order: Order,
    work: (report: JobReport) => Promise<DeadLetterOutcome[]>,
    onEnded: (job: Job) => Promise<void>,
  ): Job | undefined {
    if (this.#running) return undefined;
    const id = this.#newId();
    const job: Job = {
      ...order,
      id,
      startedAt: this.#clock.wall(),
      endedAt: null,
      status: 'running',
      total: null,
      done: 0,
      progress: 'reading the dead-letter topic',
      summary: [],
      failures: [],
      moreFailures: 0,
      notes: [],
    };
    this.#jobs.set(id, job);
    for (const oldest of this.#jobs.keys()) if (this.#jobs.size > MAX_KEPT) this.#jobs.delete(oldest);
    const stop = new AbortController();
    this.#running = { id, stop };
    this.#ended = this.#run(id, work, AbortSignal.any([stop.signal, this.#stopping.signal]))
      .then(() => onEnded(this.#jobs.get(id) ?? job))
      .catch(() => {});
    return job;
  }

  /** Lets a job end after the records in progress. */
  interrupt(id: string): void {
    if (this.#running?.id === id) this.#running.stop.abort();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
  }

  async #run(
    id: string,
    work: (report: JobReport) => Promise<DeadLetterOutcome[]>,
    signal: AbortSignal,
  ): Promise<void> {
    const change = (more: Partial<Job>) => {
      const job = this.#jobs.get(id);
      if (job) this.#jobs.set(id, { ...job, ...more });
    };
    const isDry = this.#jobs.get(id)?.isDry ?? false;
    let total = 0;
    let shownAt = Number.NEGATIVE_INFINITY;
    const note = (line: string) => {
      const notes = this.#jobs.get(id)?.notes ?? [];
      if (notes.length < MAX_NOTES) change({ notes: [...notes, line] });
    };
    try {
      const outcomes = await work({
        signal,
        note,
        onSelected({ due, unasked, done }) {
          total = due.length;
          if (unasked > 0)
            note(
              `${unasked} commands and foreign records are left alone: select the stage COMMAND for commands.`,
            );
          if (done > 0) note(`${done} were redriven or dismissed before.`);
          change({ total, progress: progressLine([], total, isDry) });
        },
        onProgress: (so) => {
          if (this.#clock.now() - shownAt < PROGRESS_EVERY_MS) return;
          shownAt = this.#clock.now();
          change({ done: so.length, progress: progressLine(so, total, isDry) });
        },
      });
      const failed = outcomes.find(({ outcome }) => outcome === 'failed');
      if (failed)
        note(`It ended at ${failed.deadLetter.at}: ${failed.message ?? failed.code ?? 'it failed'}`);
      const failures = outcomes.filter(isNotAsAsked);
      const tried = outcomes.filter(({ outcome }) => outcome !== 'waiting');
      change({
        status: statusOf(outcomes, signal),
        done: tried.length,
        progress: progressLine(outcomes, total, isDry),
        summary: summaryRows(outcomes, isDry),
        failures: outcomeRows(failures.slice(0, MAX_FAILURES)),
        moreFailures: Math.max(0, failures.length - MAX_FAILURES),
      });
    } catch (error) {
      // Interrupted before it had anything to do.
      if (error === signal.reason) return change({ status: 'stopped' });
      change({ status: 'failed' });
      note((error as Error).message);
    } finally {
      change({ endedAt: this.#clock.wall() });
      this.#running = undefined;
    }
  }
}

/** The brokers end a job as its user can: then the rest waits. */
function statusOf(outcomes: readonly DeadLetterOutcome[], { aborted }: AbortSignal): Job['status'] {
  const has = (kind: DeadLetterOutcome['outcome']) => outcomes.some(({ outcome }) => outcome === kind);
  if (has('failed')) return 'failed';
  if (aborted) return 'stopped';
  return has('waiting') ? 'failed' : 'done';
}

const isNotAsAsked = ({ outcome }: DeadLetterOutcome) => outcome !== 'stored' && outcome !== 'dismissed';
