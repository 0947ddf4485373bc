import type { LargeCarrier, Receipt, VerifiedDelivery } from '../../core/delivery.ts';
import { HooklineError } from '../../core/errors.ts';
import type { EncryptionKey } from '../../crypto/keys.ts';
import type { DeliveryObserver } from '../../delivery/ports.ts';
import type { PublisherObserver } from '../../kafka/produce/publisher.ts';
import { Room } from '../body/byte-semaphore.ts';
import type { Job, JobEnd, LaneOptions, Seen } from './lane-messages.ts';
import { LaneWorker } from './lane-worker.ts';

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
  readonly #room: Room;
  #worker: LaneWorker | undefined;
  #n = 0;

  constructor(parts: LargeLaneParts) {
    this.#parts = parts;
    this.#room = new Room(parts.atWork);
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
    for (const stage of seen.parked) observer.parked(stage);
  }
}

function failureOf({ fault }: JobEnd): HooklineError {
  const { code = 'INTERNAL', detail, cause } = fault ?? {};
  return new HooklineError(code, detail, { cause });
}
