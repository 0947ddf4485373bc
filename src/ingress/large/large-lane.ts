import { Worker } from 'node:worker_threads';
import { markVerified, type VerifiedDelivery } from '../../core/delivery.ts';
import { HooklineError } from '../../core/errors.ts';
import type { EncryptionKey } from '../../crypto/keys.ts';
import type { DeliveryObserver } from '../../delivery/delivery-parts.ts';
import type { LargeCarrier, LargeOutcome } from '../../delivery/large-delivery.ts';
import type { PublisherObserver } from '../../kafka/publisher.ts';
import { Room } from '../bodies/room.ts';
import type { FromThread, Job, JobEnd, LaneOptions, Seen } from './lane-messages.ts';

export type LargeLaneParts = {
  readonly options: LaneOptions;
  /** Bytes of bodies that are worked on at once. */
  readonly atWork: number;
  /** Megabytes of the thread's heap; one that needs more ends it. */
  readonly heapMb: number;
  readonly encryptionKeysOf: (ref: string) => readonly EncryptionKey[];
  readonly observer: LaneObserver;
  /** The thread's program; a test may give another. */
  readonly program?: URL;
};

export type LaneObserver = {
  readonly delivery: DeliveryObserver;
  readonly publishing: Omit<PublisherObserver, 'troubleChanged'>;
  /** The thread ended by itself; the next large body gets a new one. */
  threadDied(error: unknown): void;
};

type Waiting = { resolve(end: JobEnd): void; reject(error: Error): void };

/** Carries large deliveries in a thread of their own, which is started with the first of them. */
export class LargeLane implements LargeCarrier {
  readonly #parts: LargeLaneParts;
  readonly #room: Room;
  readonly #waiting = new Map<number, Waiting>();
  #thread: Worker | undefined;
  #n = 0;

  constructor(parts: LargeLaneParts) {
    this.#parts = parts;
    this.#room = new Room(parts.atWork);
  }

  async store(delivery: VerifiedDelivery, deadlineMs: () => number | null): Promise<LargeOutcome> {
    return this.#inTurn(delivery, async () => {
      const ms = deadlineMs();
      if (ms === null) return { error: null, delivery };
      const end = await this.#carry('store', delivery, ms);
      this.#tell(delivery, end.seen);
      if (end.receipt) return { receipt: end.receipt };
      return { error: failureOf(end), delivery: returned(delivery, end) };
    });
  }

  async identify(delivery: VerifiedDelivery): Promise<{ eventId: string; delivery: VerifiedDelivery }> {
    return this.#inTurn(delivery, async () => {
      const end = await this.#carry('identify', delivery, 0);
      if (end.eventId === undefined) throw failureOf(end);
      return { eventId: end.eventId, delivery: returned(delivery, end) };
    });
  }

  async stop(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    this.#failAll(new HooklineError('LARGE_BODY_FAILED'));
    await thread?.terminate();
  }

  /** As many at once as have room; what each costs while it is worked on is a multiple of its length. */
  async #inTurn<T>({ body }: VerifiedDelivery, work: () => Promise<T>): Promise<T> {
    const bytes = body.length;
    await this.#room.enter(bytes, Number.POSITIVE_INFINITY);
    try {
      return await work();
    } finally {
      this.#room.leave(bytes);
    }
  }

  #carry(kind: Job['kind'], delivery: VerifiedDelivery, deadlineMs: number): Promise<JobEnd> {
    const { body, ...rest } = delivery;
    const keys = this.#parts.encryptionKeysOf(delivery.ref);
    const job: Job = { n: ++this.#n, kind, delivery: rest, body, keys, deadlineMs };
    const { promise, resolve, reject } = Promise.withResolvers<JobEnd>();
    this.#waiting.set(job.n, { resolve, reject });
    this.#thread ??= this.#start();
    this.#thread.postMessage(job, [body.buffer as ArrayBuffer]);
    return promise;
  }

  #start(): Worker {
    const { options, heapMb, program = new URL('./lane-thread.ts', import.meta.url) } = this.#parts;
    const thread = new Worker(program, {
      workerData: options,
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
      // One of the client's timers is set to less than nothing, harmlessly (PITFALLS K17).
      execArgv: ['--disable-warning=TimeoutNegativeWarning'],
    });
    thread.on('message', (message: FromThread) => this.#take(message));
    thread.on('error', (error) => this.#die(thread, error));
    thread.on('exit', () => this.#die(thread, new Error('the thread for large bodies ended')));
    return thread;
  }

  #take(message: FromThread): void {
    const { publishing } = this.#parts.observer;
    if (message.kind === 'attempt') return publishing.attempt(message.outcome);
    if (message.kind === 'confirmed') return publishing.confirmed(message.seconds);
    if (message.kind === 'session') return publishing.sessionOpened();
    const waiting = this.#waiting.get(message.n);
    this.#waiting.delete(message.n);
    waiting?.resolve(message);
  }

  #tell({ ref }: VerifiedDelivery, seen: Seen): void {
    const { delivery: observer } = this.#parts.observer;
    for (const place of seen.matched) observer.keyMatched(ref, 'encryption', place);
    for (const { topic, field, count } of seen.drift.values()) observer.drift(topic, field, count);
    for (let n = 0; n < seen.unclassified; n++) observer.unclassified();
    for (const stage of seen.parked) observer.parked(stage);
  }

  #die(thread: Worker, error: unknown): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    this.#parts.observer.threadDied(error);
    this.#failAll(new HooklineError('LARGE_BODY_FAILED', undefined, { cause: error }));
  }

  #failAll(failure: HooklineError): void {
    for (const { reject } of this.#waiting.values()) reject(failure);
    this.#waiting.clear();
  }
}

/** The delivery with the memory that came back. */
function returned(delivery: VerifiedDelivery, { body }: JobEnd): VerifiedDelivery {
  if (!body) throw new TypeError('a body that was not stored comes back');
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return markVerified({ ...delivery, body: bytes }, delivery.subscriptionId);
}

function failureOf({ fault }: JobEnd): HooklineError {
  const { code = 'INTERNAL', detail, cause } = fault ?? {};
  return new HooklineError(code, detail, { cause });
}
