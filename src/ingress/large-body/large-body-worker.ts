import { Worker } from 'node:worker_threads';
import type { LargeCarrier, Receipt, VerifiedDelivery } from '../../core/delivery.ts';
import { HooklineError } from '../../core/errors.ts';
import type { EncryptionKey } from '../../crypto/keys.ts';
import type { DeliveryObserver } from '../../delivery/ports.ts';
import { observePublishing } from '../../kafka/open-kafka.ts';
import type { PublisherObserver } from '../../kafka/produce/publisher.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { ByteSemaphore } from '../body/byte-semaphore.ts';
import { WORK_FACTOR } from '../body/memory-shares.ts';
import { MIB } from '../settings.ts';
import type { FromThread, Job, JobEnd, LaneOptions, Seen } from './lane-messages.ts';

export type LargeLaneParts = {
  readonly options: LaneOptions;
  /** Bytes of bodies that are worked on at once. */
  readonly atWork: number;
  /** Megabytes of the thread's heap; a body that needs more ends it. */
  readonly heapMb: number;
  readonly encryptionKeysOf: (ref: string) => readonly EncryptionKey[];
  readonly observer: LaneObserver;
  /** The thread's program; a test may give another. */
  readonly program?: URL;
};

export type LaneObserver = {
  readonly delivery: DeliveryObserver;
  readonly publishing: Omit<PublisherObserver, 'troubleChanged'>;
  /** The thread ended by itself; a new one takes its place with the next large body. */
  threadDied(error: unknown): void;
};

/**
 * Carries large deliveries in a thread of its own. One is enough for what is read of them (LARGE_BODY_BYTES_PER_SECOND);
 * a second one took small bodies' processor where there are two cores, and half of the memory that more of them wait in.
 */
export class LargeLane implements LargeCarrier {
  readonly #parts: LargeLaneParts;
  readonly #room: ByteSemaphore;
  #worker: LaneWorker | undefined;
  #n = 0;

  constructor(parts: LargeLaneParts) {
    this.#parts = parts;
    this.#room = new ByteSemaphore(parts.atWork, systemClock);
  }

  store(delivery: VerifiedDelivery, deadlineMs: () => number): Promise<Receipt> {
    return this.#inTurn(delivery, async () => {
      const end = await this.#carry('store', delivery, deadlineMs());
      this.#tell(delivery, end.seen);
      if (!end.receipt) throw failureOf(end);
      return end.receipt;
    });
  }

  identify(delivery: VerifiedDelivery): Promise<string> {
    return this.#inTurn(delivery, async () => {
      const end = await this.#carry('identify', delivery, 0);
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

  /** As many at once as have room; what each costs while it is worked on is a multiple of its length. */
  async #inTurn<T>({ body }: VerifiedDelivery, work: () => Promise<T>): Promise<T> {
    const bytes = body.length;
    await this.#room.acquire(bytes, Number.POSITIVE_INFINITY);
    try {
      return await work();
    } finally {
      this.#room.release(bytes);
    }
  }

  #carry(kind: Job['kind'], delivery: VerifiedDelivery, deadlineMs: number): Promise<JobEnd> {
    const { body, ...rest } = delivery;
    const keys = this.#parts.encryptionKeysOf(delivery.ref);
    this.#worker ??= this.#start();
    return this.#worker.carry({ n: ++this.#n, kind, delivery: rest, body, keys, deadlineMs });
  }

  #start(): LaneWorker {
    const { options, heapMb, observer, program } = this.#parts;
    const onDeath = (error: unknown) => {
      this.#worker = undefined;
      observer.threadDied(error);
    };
    return new LaneWorker({ options, heapMb, publishing: observer.publishing, onDeath, program });
  }

  #tell({ ref }: VerifiedDelivery, seen: Seen): void {
    const { delivery: observer } = this.#parts.observer;
    for (const place of seen.matched) observer.keyMatched(ref, 'encryption', place);
    for (const { topic, field, count } of seen.drift.values()) observer.drift(topic, field, count);
    for (let n = 0; n < seen.unclassified; n++) observer.unclassified();
    for (const stage of seen.parked) observer.deadLettered(stage);
  }
}

function failureOf({ fault }: JobEnd): HooklineError {
  const { code = 'INTERNAL', detail, cause } = fault ?? {};
  return new HooklineError(code, detail, { cause });
}

type LaneWorkerParts = {
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
class LaneWorker {
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

/** Below it the thread could not even start. */
const LEAST_HEAP_MB = 128;

/** Of what bodies at work cost, for the thread's heap: what is no longer used stands in it until it is collected. */
const HEAP_FACTOR = 2 * WORK_FACTOR;

/** The lane for large bodies. What happens in its thread is counted and logged as if it happened here. */
export function startLargeLane({
  logger,
  metrics,
  delivery,
  ...parts
}: Omit<LargeLaneParts, 'observer' | 'heapMb'> & {
  readonly delivery: LargeLaneParts['observer']['delivery'];
  readonly logger: Logger;
  readonly metrics: Metrics;
}): LargeLane {
  return new LargeLane({
    ...parts,
    heapMb: Math.max(LEAST_HEAP_MB, Math.ceil((HEAP_FACTOR * parts.atWork) / MIB)),
    observer: {
      delivery,
      publishing: observePublishing({ logger, metrics }),
      threadDied(err) {
        metrics.largeBodyThreadDeaths.inc();
        logger.error({ err }, 'the thread for large bodies ended, the next large body gets a new one');
      },
    },
  });
}
