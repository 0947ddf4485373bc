import { TooLong } from '../../avro/avro-writer.ts';
import type { DeliveryIdentity, LargeBodyPublisher, Receipt, VerifiedDelivery } from '../../core/delivery.ts';
import { HooklineError } from '../../core/errors.ts';
import type { EncryptionKey } from '../../crypto/keys.ts';
import type { SealingKeys } from '../../crypto/sealing.ts';
import type { DeliveryObserver, RecordRoom } from '../../delivery/ports.ts';
import type { PublisherObserver } from '../../kafka/produce/publisher.ts';
import type { WriteOutcome } from '../../object-store/body-store.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { sealingKeysNow } from '../../runtime/sealing-key-file.ts';
import { toError, toFault, WorkerCalls } from '../../runtime/worker-calls.ts';
import { ByteSemaphore } from '../body/byte-semaphore.ts';
import { recordRoom } from './record-room.ts';
import type {
  Job,
  JobResult,
  Observations,
  TokenJob,
  WorkerEvent,
  WorkerOptions,
} from './worker-messages.ts';

/** How often a token that has changed is handed to the thread. */
const TOKEN_MS = 1_000;
/** After the last large body the thread is kept for this long. */
const IDLE_MS = 30_000;

export type LargeBodyWorkerDeps = {
  readonly options: WorkerOptions;
  /** Bytes of bodies that are worked on at once. */
  readonly atWork: number;
  /** Megabytes of the thread's heap; a body that needs more ends it. */
  readonly heapMb: number;
  readonly encryptionKeysOf: (ref: string) => readonly EncryptionKey[];
  /** The access token for the brokers, where they are reached by tokens. */
  readonly kafkaToken: (() => string | undefined) | undefined;
  /** The keys that seal dead-lettered bodies, where a type's policy demands it. */
  readonly bodySealing: SealingKeys | undefined;
  /** Why the object store is not to be tried now, or null. */
  readonly storeRefusal: () => HooklineError | null;
  readonly observer: LargeBodyObserver;
  readonly clock: Clock;
  /** The thread's program; a test may give another. */
  readonly program?: URL;
};

export type LargeBodyObserver = {
  readonly delivery: DeliveryObserver;
  readonly publishing: Omit<PublisherObserver, 'troubleChanged'>;
  /** A write to the object store has ended. */
  objectWritten(outcome: WriteOutcome, seconds: number, error: HooklineError | undefined): void;
  /** The brokers did not take this access token. */
  tokenRejected(token: string): void;
  /** The thread ended by itself; the next large body starts a new one. */
  threadDied(error: unknown): void;
};

/** Publishes large deliveries in a thread of its own, which runs while there are some. */
export class LargeBodyWorker implements LargeBodyPublisher {
  readonly #deps: LargeBodyWorkerDeps;
  readonly #memory: ByteSemaphore;
  #worker: WorkerCalls<Job | TokenJob, JobResult, WorkerEvent> | undefined;
  #draining = 0;
  #idle: Timer | undefined;
  #tokens: Timer | undefined;
  #handed: string | undefined;

  constructor(deps: LargeBodyWorkerDeps) {
    this.#deps = deps;
    this.#memory = new ByteSemaphore(deps.atWork, deps.clock);
  }

  store(delivery: VerifiedDelivery, deadlineMs: () => number): Promise<Receipt> {
    const all = this.#memory.capacity;
    const storeWith = (bytes: number) =>
      this.#withMemory(bytes, () => this.#store(delivery, deadlineMs(), recordRoom(bytes, all)));
    return storeWith(delivery.body.length).catch((error) => {
      if (!(error instanceof TooLong)) throw error;
      return storeWith(all);
    });
  }

  /**
   * The caller has memory for a body of so many bytes, the delivery's at least.
   * @throws TooLong where that is less than a body can have, and too little for this one
   */
  async drain(delivery: VerifiedDelivery, bytes = delivery.body.length): Promise<Receipt> {
    this.#draining++;
    const room = recordRoom(bytes, this.#memory.capacity);
    try {
      return await this.#store(delivery, Number.POSITIVE_INFINITY, room);
    } finally {
      this.#draining--;
      this.#endWhenIdle();
    }
  }

  identify(delivery: VerifiedDelivery): Promise<DeliveryIdentity> {
    return this.#withMemory(delivery.body.length, async () => {
      const result = await this.#call('identify', delivery, 0, { bytes: 0, isShare: false });
      if (result.identity === undefined) throw failureOf(result);
      return result.identity;
    });
  }

  aside<T>(work: () => Promise<T>): Promise<T> {
    return this.#withMemory(this.#memory.capacity, work);
  }

  /** Whether a body of so many bytes would be worked on at once. */
  hasRoom(bytes: number): boolean {
    return this.#memory.hasRoom(bytes);
  }

  /** Starts the thread while a large body arrives, which then need not wait for that. */
  warm(): void {
    this.#worker ??= this.#start();
    this.#endWhenIdle();
  }

  async stop(): Promise<void> {
    this.#idle?.cancel();
    this.#tokens?.cancel();
    this.#tokens = undefined;
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  async #store(delivery: VerifiedDelivery, deadlineMs: number, room: RecordRoom): Promise<Receipt> {
    const result = await this.#call('store', delivery, deadlineMs, room);
    if (result.isTooLong) throw new TooLong();
    this.#report(delivery, result.observations);
    if (!result.receipt) throw failureOf(result);
    return result.receipt;
  }

  /** As many at once as fit; what each costs while it is worked on is a multiple of its length. */
  async #withMemory<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    await this.#memory.acquire(bytes, Number.POSITIVE_INFINITY);
    try {
      return await work();
    } finally {
      this.#memory.release(bytes);
      this.#endWhenIdle();
    }
  }

  /** An idle thread holds a heap, buffers and connections: some 40 MiB, and hundreds after large bodies. */
  #endWhenIdle(): void {
    this.#idle?.cancel();
    this.#idle = this.#deps.clock.after(
      IDLE_MS,
      () => {
        if (this.#memory.taken === 0 && this.#draining === 0) void this.stop();
      },
      { ref: false },
    );
  }

  #call(
    kind: Job['kind'],
    delivery: VerifiedDelivery,
    deadlineMs: number,
    recordRoom: RecordRoom,
  ): Promise<JobResult> {
    const { body, ...rest } = delivery;
    const keys = this.#deps.encryptionKeysOf(delivery.ref);
    const refusal = this.#deps.storeRefusal();
    const storeFault = refusal ? { storeFault: toFault(refusal) } : {};
    this.#worker ??= this.#start();
    const { bodySealing, kafkaToken, clock } = this.#deps;
    this.#handed = kafkaToken?.();
    if (kafkaToken) this.#tokens ??= clock.every(TOKEN_MS, () => this.#handToken(), { ref: false });
    const renewed = {
      kafkaToken: this.#handed,
      bodySealing: bodySealing && sealingKeysNow(bodySealing),
    };
    const job = { kind, delivery: rest, body, keys, deadlineMs, recordRoom };
    return this.#worker.call({ ...job, ...renewed, ...storeFault });
  }

  #start(): WorkerCalls<Job | TokenJob, JobResult, WorkerEvent> {
    const { options, heapMb, observer, program = PROGRAM } = this.#deps;
    return new WorkerCalls({
      program,
      options: { workerData: options, resourceLimits: { maxOldGenerationSizeMb: heapMb } },
      onEvent: (event) => reportEvent(event, observer),
      onDeath: (error) => {
        this.#worker = undefined;
        observer.threadDied(error);
      },
      failure: (cause) => new HooklineError('LARGE_BODY_FAILED', undefined, { cause }),
    });
  }

  #handToken(): void {
    const kafkaToken = this.#deps.kafkaToken?.();
    if (kafkaToken === this.#handed) return;
    this.#handed = kafkaToken;
    // A thread that has ended has no use for it.
    this.#worker?.call({ kind: 'token', kafkaToken }).catch(() => {});
  }

  #report({ ref }: VerifiedDelivery, seen: Observations): void {
    const { delivery: observer } = this.#deps.observer;
    for (const index of seen.matched) observer.keyMatched(ref, 'encryption', index);
    for (const { topic, field, count } of seen.drift.values()) observer.drift(topic, field, count);
    for (let n = 0; n < seen.unclassified; n++) observer.unclassified();
    for (const stage of seen.deadLettered) observer.deadLettered(stage);
  }
}

function reportEvent(
  event: WorkerEvent,
  { publishing, objectWritten, tokenRejected }: LargeBodyObserver,
): void {
  if (event.kind === 'attempt') publishing.attempt(event.outcome);
  else if (event.kind === 'confirmed') publishing.confirmed(event.seconds);
  else if (event.kind === 'object')
    objectWritten(event.outcome, event.seconds, event.fault && toError(event.fault));
  else if (event.kind === 'token-rejected') tokenRejected(event.token);
  else publishing.sessionOpened();
}

function failureOf({ fault }: JobResult): HooklineError {
  return toError(fault ?? { code: 'INTERNAL' });
}

const PROGRAM = new URL('./worker-thread.ts', import.meta.url);
