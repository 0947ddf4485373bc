import { parentPort, type Transferable, Worker, type WorkerOptions } from 'node:worker_threads';
import { type ErrorCode, HooklineError } from '../core/errors.ts';

/** A request with the number that its answer repeats. */
export type Call<Request> = { readonly n: number; readonly request: Request };

/** What a thread answers to one call: a result, or why there is none. */
export type Answer<Result> =
  | { readonly n: number; readonly result: Result }
  | { readonly n: number; readonly fault: ThreadFault };

/** An error as it crosses between threads: classes do not. */
export type ThreadFault = {
  readonly code: ErrorCode;
  readonly detail?: string | undefined;
  readonly remedy?: string | undefined;
  /** Stack of an error without a code; it never quotes a body. */
  readonly cause?: string;
};

/** Events are what a thread reports unasked; the main thread handles those of a message before its answers. */
type FromThread<Result, Event> = {
  readonly events: readonly Event[];
  readonly answers: readonly Answer<Result>[];
};

export type WorkerDeps<Event> = {
  /** The thread's program, which answers by {@link openCallPort}. */
  readonly program: URL;
  readonly options: WorkerOptions;
  readonly onEvent: (event: Event) => void;
  /** The thread ended by itself: it answers no call any more. */
  readonly onDeath: (error: Error) => void;
  /** The error of calls that get no answer; without a cause where the thread was ended on purpose. */
  readonly failure: (cause?: Error) => HooklineError;
};

/**
 * Calls to a worker thread. Calls of one turn of the event loop cross together, in their order, so that the thread can
 * do them together. When the thread ends, whatever still waits is rejected.
 */
export class WorkerCalls<Request, Result, Event = never> {
  readonly #deps: WorkerDeps<Event>;
  readonly #thread: Worker;
  readonly #waiting = new Map<number, PromiseWithResolvers<Result>>();
  #outbox: Call<Request>[] = [];
  #n = 0;
  #isEnded = false;

  constructor(deps: WorkerDeps<Event>) {
    this.#deps = deps;
    this.#thread = new Worker(deps.program, deps.options);
    this.#thread.on('message', (message: FromThread<Result, Event>) => this.#receive(message));
    this.#thread.on('error', (error) => this.#die(error as Error));
    this.#thread.on('exit', () => this.#die(new Error('the thread ended')));
  }

  /** Whether it takes no calls any more. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Shared memory is read where it is; other memory is copied. @throws HooklineError of the thread, or `failure` */
  call(request: Request): Promise<Result> {
    return this.#isEnded ? Promise.reject(this.#deps.failure()) : this.#send(request);
  }

  /** A last call, after which the thread ends by itself. Resolves when it has. */
  async close(request: Request): Promise<void> {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const exit = new Promise((resolve) => this.#thread.once('exit', resolve));
    await this.#send(request);
    await exit;
  }

  /** Ends the thread at once; what waits is rejected. */
  async terminate(): Promise<void> {
    this.#isEnded = true;
    this.#rejectAll(this.#deps.failure());
    await this.#thread.terminate();
  }

  #send(request: Request): Promise<Result> {
    const waiting = Promise.withResolvers<Result>();
    this.#waiting.set(++this.#n, waiting);
    if (this.#outbox.push({ n: this.#n, request }) === 1) setImmediate(() => this.#post());
    return waiting.promise;
  }

  #post(): void {
    const calls = this.#outbox;
    this.#outbox = [];
    try {
      this.#thread.postMessage(calls);
    } catch (error) {
      // A request that cannot be copied: without this its caller and those beside it would wait for ever.
      for (const { n } of calls) this.#waiting.get(n)?.reject(this.#deps.failure(error as Error));
      for (const { n } of calls) this.#waiting.delete(n);
    }
  }

  #receive({ events, answers }: FromThread<Result, Event>): void {
    for (const event of events) this.#deps.onEvent(event);
    for (const answer of answers) {
      const waiting = this.#waiting.get(answer.n);
      this.#waiting.delete(answer.n);
      if ('fault' in answer) waiting?.reject(toError(answer.fault));
      else waiting?.resolve(answer.result);
    }
  }

  #die(error: Error): void {
    const isExpected = this.#isEnded;
    this.#isEnded = true;
    this.#rejectAll(this.#deps.failure(error));
    if (!isExpected) this.#deps.onDeath(error);
  }

  #rejectAll(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

/** The thread's side of {@link WorkerCalls}. */
export type CallPort<Request, Result, Event> = {
  /** `handle` gets the calls that crossed together, in their order. */
  onCalls(handle: (calls: readonly Call<Request>[]) => void): void;
  /** @param transfer memory that changes hands instead of being copied */
  answer(
    answers: readonly Answer<Result>[],
    options?: { readonly events?: readonly Event[]; readonly transfer?: readonly Transferable[] },
  ): void;
  emit(event: Event): void;
  /** Lets the thread end. */
  close(): void;
};

/** @throws TypeError on the main thread */
export function openCallPort<Request, Result, Event = never>(): CallPort<Request, Result, Event> {
  const port = parentPort;
  if (!port) throw new TypeError('this is the program of a worker thread');
  const post = (message: FromThread<Result, Event>, transfer: readonly Transferable[] = []) =>
    port.postMessage(message, transfer);
  return {
    onCalls: (handle) => void port.on('message', handle),
    answer: (answers, { events = [], transfer } = {}) => post({ events, answers }, transfer),
    emit: (event) => post({ events: [event], answers: [] }),
    close: () => port.close(),
  };
}

/** Errors without a code are described by their stack: it says where, and never quotes a body. */
export function toFault(error: unknown): ThreadFault {
  if (error instanceof HooklineError)
    return { code: error.code, detail: error.detail, ...(error.remedy && { remedy: error.remedy }) };
  return { code: 'INTERNAL', cause: error instanceof Error ? String(error.stack) : '' };
}

/** The error again. */
export const toError = ({ code, detail, remedy, cause }: ThreadFault) =>
  new HooklineError(code, detail, { cause, ...(remedy !== undefined && { remedy }) });
