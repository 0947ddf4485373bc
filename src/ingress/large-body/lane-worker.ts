import { Worker } from 'node:worker_threads';
import { HooklineError } from '../../core/errors.ts';
import type { PublisherObserver } from '../../kafka/produce/publisher.ts';
import type { FromThread, Job, JobEnd, LaneOptions } from './lane-messages.ts';

export type LaneWorkerParts = {
  readonly options: LaneOptions;
  /** Megabytes of the thread's heap; one that needs more ends it. */
  readonly heapMb: number;
  readonly publishing: Omit<PublisherObserver, 'troubleChanged'>;
  /** It ended by itself, and is of no use any more. */
  readonly onDeath: (error: unknown) => void;
  /** Its program; a test may give another. */
  readonly program: URL | undefined;
};

type Waiting = {
  resolve(end: JobEnd): void;
  reject(error: Error): void;
};

/** A thread for large bodies, and what it has been given. */
export class LaneWorker {
  readonly #parts: LaneWorkerParts;
  readonly #thread: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #ended = false;

  constructor(parts: LaneWorkerParts) {
    this.#parts = parts;
    const { options, heapMb, program = new URL('./worker-thread.ts', import.meta.url) } = parts;
    this.#thread = new Worker(program, {
      workerData: options,
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
    this.#thread.on('message', (message: FromThread) => this.#take(message));
    this.#thread.on('error', (error) => this.#die(error));
    this.#thread.on('exit', () => this.#die(new Error('the thread for large bodies ended')));
  }

  /** Shared memory is read where it is; other memory is copied. @throws HooklineError LARGE_BODY_FAILED: the thread ended */
  carry(job: Job): Promise<JobEnd> {
    const { promise, resolve, reject } = Promise.withResolvers<JobEnd>();
    this.#waiting.set(job.n, { resolve, reject });
    this.#thread.postMessage(job);
    return promise;
  }

  async stop(): Promise<void> {
    this.#ended = true;
    this.#failAll(new HooklineError('LARGE_BODY_FAILED'));
    await this.#thread.terminate();
  }

  #take(message: FromThread): void {
    const { publishing } = this.#parts;
    if (message.kind === 'attempt') return publishing.attempt(message.outcome);
    if (message.kind === 'confirmed') return publishing.confirmed(message.seconds);
    if (message.kind === 'session') return publishing.sessionOpened();
    this.#end(message.n)?.resolve(message);
  }

  #end(n: number): Waiting | undefined {
    const waiting = this.#waiting.get(n);
    this.#waiting.delete(n);
    return waiting;
  }

  #die(error: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#parts.onDeath(error);
    this.#failAll(new HooklineError('LARGE_BODY_FAILED', undefined, { cause: error }));
  }

  #failAll(failure: HooklineError): void {
    for (const n of [...this.#waiting.keys()]) this.#end(n)?.reject(failure);
  }
}
