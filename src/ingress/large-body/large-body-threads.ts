import { TooLong } from '../../avro/avro-writer.ts';
import type { DeliveryIdentity, LargeBodyPublisher, Receipt, VerifiedDelivery } from '../../core/delivery.ts';
import type { DeliveryPorts } from '../../delivery/ports.ts';
import { observePublishing } from '../../kafka/open-kafka.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import type { ProcessContext } from '../../runtime/process-shell.ts';
import type { TokenSource } from '../../tokens/token-source.ts';
import type { BodyMemory } from '../body/body-memory.ts';
import { WORK_FACTOR } from '../body/memory-shares.ts';
import { LargeBodyWorker, type LargeBodyWorkerDeps } from './large-body-worker.ts';
import type { WorkerOptions } from './worker-messages.ts';

/** Memory for working on one more body. */
export type WorkLender = {
  /** Whether small bodies have not come for a while: then the machine is free for large ones. */
  isQuiet(): boolean;
  /** Gives what gives it back; null where there is none. */
  borrowWork(): (() => void) | null;
  /** Waits for it, for a body of so many bytes; gives what gives it back. */
  awaitWork(bytes: number): Promise<() => void>;
};

/** A body that began to arrive is expected to be worked on within so long; else the memory for it is given back. */
const EXPECTED_WITHIN_MS = 5_000;

type Thread = Pick<LargeBodyWorker, 'store' | 'drain' | 'identify' | 'aside' | 'hasRoom' | 'warm' | 'stop'>;
type Waiting = { readonly bytes: number; readonly start: (thread: Thread) => void };

/**
 * Publishes large deliveries in their order: in one thread, and while no small bodies come in a second one too, which
 * opens and encodes the next while the record of the one before is under way. Beside small bodies a second one would take CPU
 * from them where there are two cores, and its memory from bodies that wait to be read.
 */
export class LargeBodyThreads implements LargeBodyPublisher {
  readonly #first: Thread;
  readonly #second: Thread;
  readonly #lender: WorkLender;
  readonly #queue: Waiting[] = [];
  /** Gives back the memory of the second thread, while it has some. */
  #giveBack: (() => void) | null = null;
  #isSecondBusy = false;
  /** Bodies that are worked on. */
  #working = 0;
  readonly #clock: Clock;
  readonly #maxBodyBytes: number;
  /** Waits for the first of the bodies that began to arrive. */
  #expected: Timer | undefined;

  /** @param maxBodyBytes of the largest body */
  constructor(threads: readonly [Thread, Thread], lender: WorkLender, clock: Clock, maxBodyBytes: number) {
    this.#maxBodyBytes = maxBodyBytes;
    [this.#first, this.#second] = threads;
    this.#lender = lender;
    this.#clock = clock;
  }

  store(delivery: VerifiedDelivery, deadlineMs: () => number): Promise<Receipt> {
    return this.#withThread(delivery, (thread) => thread.store(delivery, deadlineMs));
  }

  /** In the first thread, with memory of bodies that wait to be read: what the brokers do not confirm would hold up all others. */
  async drain(delivery: VerifiedDelivery): Promise<Receipt> {
    try {
      return await this.#drain(delivery, delivery.body.length);
    } catch (error) {
      if (!(error instanceof TooLong)) throw error;
      return await this.#drain(delivery, Math.max(this.#maxBodyBytes, delivery.body.length));
    }
  }

  identify(delivery: VerifiedDelivery): Promise<DeliveryIdentity> {
    return this.#withThread(delivery, (thread) => thread.identify(delivery));
  }

  /** In the first thread's place: the second one's is only lent. */
  async aside<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await this.#first.aside(work);
    } finally {
      this.#startNext();
    }
  }

  /**
   * To be called when a large body begins to arrive: it need not wait for the start of the thread. The second one's memory is
   * taken before that of bodies, or it would come when most of them are done.
   */
  warm(): void {
    this.#first.warm();
    if (this.#giveBack || !this.#lender.isQuiet()) return;
    this.#giveBack = this.#lender.borrowWork();
    this.#expected?.cancel();
    this.#expected = this.#clock.after(EXPECTED_WITHIN_MS, () => this.#startNext(), { ref: false });
  }

  async stop(): Promise<void> {
    this.#expected?.cancel();
    await Promise.all([this.#first.stop(), this.#second.stop()]);
  }

  async #drain(delivery: VerifiedDelivery, bytes: number): Promise<Receipt> {
    const giveBack = await this.#lender.awaitWork(bytes);
    try {
      return await this.#first.drain(delivery, bytes);
    } finally {
      giveBack();
    }
  }

  #withThread<T>({ body }: VerifiedDelivery, work: (thread: Thread) => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const start = (thread: Thread) => {
      this.#expected?.cancel();
      this.#working++;
      // It takes its room at once.
      const done = work(thread).finally(() => {
        this.#working--;
        if (thread === this.#second) this.#isSecondBusy = false;
        this.#startNext();
      });
      done.then(resolve, reject);
    };
    this.#queue.push({ bytes: body.length, start });
    this.#startNext();
    return promise;
  }

  #startNext(): void {
    for (let next = this.#queue[0]; next; next = this.#queue[0]) {
      const thread = this.#threadFor(next.bytes);
      if (!thread) break;
      this.#queue.shift();
      if (thread === this.#second) this.#isSecondBusy = true;
      next.start(thread);
    }
    if (this.#isSecondBusy || (this.#working > 0 && this.#lender.isQuiet())) return;
    this.#giveBack?.();
    this.#giveBack = null;
  }

  #threadFor(bytes: number): Thread | undefined {
    if (this.#first.hasRoom(bytes)) return this.#first;
    if (this.#isSecondBusy || !this.#lender.isQuiet()) return undefined;
    this.#giveBack ??= this.#lender.borrowWork();
    return this.#giveBack ? this.#second : undefined;
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
    readonly memory: Pick<BodyMemory, 'atWork' | 'isQuiet' | 'borrowWork' | 'awaitWork'>;
    readonly delivery: Pick<DeliveryPorts, 'encryptionKeysOf' | 'observer' | 'claims' | 'bodySealing'>;
    readonly kafkaTokens: TokenSource | undefined;
  },
  { logger, metrics, clock, components }: ProcessContext,
): LargeBodyThreads {
  const { worker, memory, delivery, kafkaTokens } = options;
  const { atWork } = memory;
  const { largeBodyThreadDeaths } = largeBodyMetrics(metrics);
  const deps: LargeBodyWorkerDeps = {
    options: worker,
    atWork,
    clock,
    encryptionKeysOf: delivery.encryptionKeysOf,
    kafkaToken: kafkaTokens && (() => kafkaTokens.current()),
    bodySealing: delivery.bodySealing,
    storeRefusal: () => delivery.claims?.refusal ?? null,
    heapMb: Math.max(MIN_HEAP_MB, Math.ceil((HEAP_FACTOR * atWork) / MIB)),
    observer: {
      delivery: delivery.observer,
      publishing: observePublishing({ logger, metrics }),
      objectWritten: (...write) => delivery.claims?.noteWrite(...write),
      tokenRejected: (token) => kafkaTokens?.reject(token),
      threadDied(err) {
        largeBodyThreadDeaths.inc();
        logger.error({ err }, 'the thread for large bodies ended; the next large body starts a new one');
      },
    },
  };
  const threads = [new LargeBodyWorker(deps), new LargeBodyWorker(deps)] as const;
  return components.add('large bodies', new LargeBodyThreads(threads, memory, clock, atWork));
}

/** The thread for large bodies. */
export const largeBodyMetrics = (metrics: Metrics) => ({
  largeBodyThreadDeaths: metrics.counter({
    name: 'hookline_large_body_thread_deaths_total',
    help: 'How often the thread for large bodies ended by itself; what it had was answered 503',
  }),
});
