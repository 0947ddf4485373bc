import { Worker } from 'node:worker_threads';
import type { LargeBodyPublisher, Receipt, VerifiedDelivery } from '../../core/delivery.ts';
import { HooklineError } from '../../core/errors.ts';
import type { EncryptionKey } from '../../crypto/keys.ts';
import type { DeliveryObserver, DeliveryPorts } from '../../delivery/ports.ts';
import { observePublishing } from '../../kafka/open-kafka.ts';
import type { PublisherObserver } from '../../kafka/produce/publisher.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { ProcessContext } from '../../runtime/process-shell.ts';
import { ByteSemaphore } from '../body/byte-semaphore.ts';
import { WORK_FACTOR } from '../body/memory-shares.ts';
import type { Job, JobResult, Observations, WorkerMessage, WorkerOptions } from './lane-messages.ts';

export type LargeBodyWorkerDeps = {
  readonly options: WorkerOptions;
  /** Bytes of bodies that are worked on at once. */
  readonly atWork: number;
  /** Megabytes of the thread's heap; a body that needs more ends it. */
  readonly heapMb: number;
  readonly encryptionKeysOf: (ref: string) => readonly EncryptionKey[];
  readonly observer: LargeBodyObserver;
  readonly clock: Clock;
  /** The thread's program; a test may give another. */
  readonly program?: URL;
};

export type LargeBodyObserver = {
  readonly delivery: DeliveryObserver;
  readonly publishing: Omit<PublisherObserver, 'troubleChanged'>;
  /** The thread ended by itself; the next large body starts a new one. */
  threadDied(error: unknown): void;
};

/**
 * Publishes large deliveries in a thread of its own. One is enough for what is read of them (LARGE_BODY_BYTES_PER_SECOND);
 * a second one took CPU from small bodies where there are two cores, and half of the memory that waiting bodies need.
 */
export class LargeBodyWorker implements LargeBodyPublisher {
  readonly #deps: LargeBodyWorkerDeps;
  readonly #memory: ByteSemaphore;
  #worker: WorkerThread | undefined;
  #n = 0;

  constructor(deps: LargeBodyWorkerDeps) {
    this.#deps = deps;
    this.#memory = new ByteSemaphore(deps.atWork, deps.clock);
  }

  store(delivery: VerifiedDelivery, deadlineMs: () => number): Promise<Receipt> {
    return this.#withMemory(delivery, async () => {
      const end = await this.#call('store', delivery, deadlineMs());
      this.#report(delivery, end.observations);
      if (!end.receipt) throw failureOf(end);
      return end.receipt;
    });
  }

  identify(delivery: VerifiedDelivery): Promise<string> {
    return this.#withMemory(delivery, async () => {
      const end = await this.#call('identify', delivery, 0);
      if (end.eventId === undefined) throw failureOf(end);
      return end.eventId;
    });
  }

  /** Starts the thread: the first large body need not wait for that. */
  warm(): void {
    this.#worker ??= this.#start();
  }

  async stop(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.stop();
  }

  /** As many at once as fit; what each costs while it is worked on is a multiple of its length. */
  async #withMemory<T>({ body }: VerifiedDelivery, work: () => Promise<T>): Promise<T> {
    const bytes = body.length;
    await this.#memory.acquire(bytes, Number.POSITIVE_INFINITY);
    try {
      return await work();
    } finally {
      this.#memory.release(bytes);
    }
  }

  #call(kind: Job['kind'], delivery: VerifiedDelivery, deadlineMs: number): Promise<JobResult> {
    const { body, ...rest } = delivery;
    const keys = this.#deps.encryptionKeysOf(delivery.ref);
    this.#worker ??= this.#start();
    return this.#worker.call({ n: ++this.#n, kind, delivery: rest, body, keys, deadlineMs });
  }

  #start(): WorkerThread {
    const { options, heapMb, observer, program } = this.#deps;
    const onDeath = (error: unknown) => {
      this.#worker = undefined;
      observer.threadDied(error);
    };
    return new WorkerThread({ options, heapMb, publishing: observer.publishing, onDeath, program });
  }

  #report({ ref }: VerifiedDelivery, seen: Observations): void {
    const { delivery: observer } = this.#deps.observer;
    for (const index of seen.matched) observer.keyMatched(ref, 'encryption', index);
    for (const { topic, field, count } of seen.drift.values()) observer.drift(topic, field, count);
    for (let n = 0; n < seen.unclassified; n++) observer.unclassified();
    for (const stage of seen.deadLettered) observer.deadLettered(stage);
  }
}

function failureOf({ fault }: JobResult): HooklineError {
  const { code = 'INTERNAL', detail, cause } = fault ?? {};
  return new HooklineError(code, detail, { cause });
}

type WorkerThreadDeps = {
  readonly options: WorkerOptions;
  /** Megabytes of the thread's heap; one that needs more ends it. */
  readonly heapMb: number;
  readonly publishing: Omit<PublisherObserver, 'troubleChanged'>;
  /** It ended by itself, and is of no use any more. */
  readonly onDeath: (error: unknown) => void;
  /** Its program; a test may give another. */
  readonly program: URL | undefined;
};

type Waiting = {
  resolve(end: JobResult): void;
  reject(error: Error): void;
};

/** A thread for large bodies, and what it has been given. */
class WorkerThread {
  readonly #deps: WorkerThreadDeps;
  readonly #thread: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #ended = false;

  constructor(deps: WorkerThreadDeps) {
    this.#deps = deps;
    const { options, heapMb, program = new URL('./worker-thread.ts', import.meta.url) } = deps;
    this.#thread = new Worker(program, {
      workerData: options,
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
    this.#thread.on('message', (message: WorkerMessage) => this.#take(message));
    this.#thread.on('error', (error) => this.#die(error));
    this.#thread.on('exit', () => this.#die(new Error('the thread for large bodies ended')));
  }

  /** Shared memory is read where it is; other memory is copied. @throws HooklineError LARGE_BODY_FAILED: the thread ended */
  call(job: Job): Promise<JobResult> {
    const { promise, resolve, reject } = Promise.withResolvers<JobResult>();
    this.#waiting.set(job.n, { resolve, reject });
    this.#thread.postMessage(job);
    return promise;
  }

  async stop(): Promise<void> {
    this.#ended = true;
    this.#failAll(new HooklineError('LARGE_BODY_FAILED'));
    await this.#thread.terminate();
  }

  #take(message: WorkerMessage): void {
    const { publishing } = this.#deps;
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
    this.#deps.onDeath(error);
    this.#failAll(new HooklineError('LARGE_BODY_FAILED', undefined, { cause: error }));
  }

  #failAll(failure: HooklineError): void {
    for (const n of [...this.#waiting.keys()]) this.#end(n)?.reject(failure);
  }
}

/** Below it the thread could not even start. */
const MIN_HEAP_MB = 128;
const MIB = 1024 * 1024;

/** Of what bodies at work cost, for the thread's heap: what is no longer used stays in it until it is collected. */
const HEAP_FACTOR = 2 * WORK_FACTOR;

/** The publisher of large bodies for ingress. What happens in its thread is counted and logged as if it happened here. */
export function startLargeBodies(
  options: {
    readonly worker: WorkerOptions;
    /** Bytes of bodies that are worked on at once. */
    readonly atWork: number;
    readonly delivery: Pick<DeliveryPorts, 'encryptionKeysOf' | 'observer'>;
  },
  { logger, metrics, clock, components }: ProcessContext,
): LargeBodyWorker {
  const { worker, atWork, delivery } = options;
  const large = new LargeBodyWorker({
    ...{ options: worker, atWork, clock, encryptionKeysOf: delivery.encryptionKeysOf },
    heapMb: Math.max(MIN_HEAP_MB, Math.ceil((HEAP_FACTOR * atWork) / MIB)),
    observer: {
      delivery: delivery.observer,
      publishing: observePublishing({ logger, metrics }),
      threadDied(err) {
        metrics.largeBodyThreadDeaths.inc();
        logger.error({ err }, 'the thread for large bodies ended; the next large body starts a new one');
      },
    },
  });
  return components.add('large bodies', large);
}
