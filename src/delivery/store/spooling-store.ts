import { isLarge, type LargeCarrier, type Receipt, type VerifiedDelivery } from '../../core/delivery.ts';
import { HooklineError, hasCode } from '../../core/errors.ts';
import type { OutgoingRecord } from '../../core/record.ts';
import type { Spool } from '../../spool/spool.ts';
import type { DeliveryPorts, StorePublisher } from '../ports.ts';
import { deliveryIdOf, publishDelivery } from '../publish-delivery.ts';
import { type DrainObserver, drainSpool } from './drain-spool.ts';

export type SpoolingStoreParts = {
  /** `publish` of these is not used: the store has its own ways. */
  readonly delivery: Omit<DeliveryPorts, 'publish'>;
  readonly spool: Pick<Spool, 'append' | 'read' | 'remove' | 'outstanding' | 'state'>;
  readonly publisher: Pick<StorePublisher, 'publish' | 'dropWaiting'>;
  /** After it Kafka counts as away. */
  readonly publishDeadlineMs: number;
  /** Takes the large ones; without it they go the way of all. */
  readonly large?: LargeCarrier;
  readonly observer: SpoolObserver;
};

export type SpoolObserver = DrainObserver & {
  /** The spool is in use from now on, and why. */
  diverted(why: string): void;
  /** It is empty, and Kafka is used again; what was in it since the last change. */
  drained(deliveries: number, seconds: number): void;
};

/** A delivery that isn't stored yet. */
type Entry = {
  readonly delivery: VerifiedDelivery;
  readonly resolve: (receipt: Receipt) => void;
  readonly reject: (error: unknown) => void;
};

/** The failures that mean: Kafka is away, or too slow, or takes nothing. */
const isAway = (error: unknown) =>
  hasCode(error, 'PUBLISH_DEADLINE', 'PUBLISH_BACKLOG_FULL', 'PUBLISH_REFUSED');

/** How long new deliveries wait at most while the last of the spool goes to Kafka; then they go behind it. */
const HANDOVER_MS = 1_000;

/**
 * Stores deliveries in Kafka, and while it is away in the spool; in the order of the calls, over all changes between
 * the two. Three states:
 * - `kafka`: straight to Kafka. The first that isn't confirmed in time diverts all that wait, in their order.
 * - `spool`: everything goes behind what is in the spool, which is drained meanwhile.
 * - `handover`: the spool is all but empty. New ones wait until it is, for a moment: under steady traffic it never
 *   would be otherwise.
 */
export class SpoolingStore {
  readonly #parts: SpoolingStoreParts;
  #state: 'kafka' | 'spool' | 'handover' = 'kafka';
  /** On their way to Kafka, in the order of their coming. */
  readonly #inFlight = new Set<Entry>();
  /** Held during a handover, in the order of their coming. */
  #held: Entry[] = [];
  #handover: NodeJS.Timeout | undefined;
  readonly #stopping = new AbortController();

  /** What an earlier process left in the spool is drained first. */
  constructor(parts: SpoolingStoreParts) {
    this.#parts = parts;
    if (parts.spool.outstanding > 0) this.#divert('an earlier process left deliveries in it');
  }

  /** @throws HooklineError SPOOL_FULL, SPOOL_FAILING, and what publishDelivery throws: nothing is promised */
  store(delivery: VerifiedDelivery): Promise<Receipt> {
    if (this.#parts.large && isLarge(delivery)) return this.#storeLarge(delivery, this.#parts.large);
    return new Promise((resolve, reject) => {
      const entry = { delivery, resolve, reject };
      if (this.#state === 'kafka') this.#send(entry);
      else if (this.#state === 'spool') void this.#append(entry);
      else this.#held.push(entry);
    });
  }

  /**
   * A large one takes its own way to Kafka, and so its own turn to the spool: it waits behind no small one and none waits
   * behind it. An entity's order holds all the same for those whose answers were waited for.
   */
  async #storeLarge(delivery: VerifiedDelivery, large: LargeCarrier): Promise<Receipt> {
    const deadlineMs = () => {
      if (this.#state !== 'kafka') throw new HooklineError('PUBLISH_DEADLINE', 'the spool is in use');
      return this.#parts.publishDeadlineMs;
    };
    let away: unknown;
    try {
      return await large.store(delivery, deadlineMs);
    } catch (error) {
      if (!isAway(error)) throw error;
      away = error;
    }
    const eventId = await large.identify(delivery);
    const appended = this.#parts.spool.append(delivery);
    // It is in the spool's count by now: the drain that begins here, or is under way, will find it.
    if (this.#state === 'kafka') this.#divert((away as Error).message);
    await appended;
    return { eventId, stored: 'spool' };
  }

  get isSpooling(): boolean {
    return this.#state !== 'kafka';
  }

  /** Ends the drain: what is not confirmed when the publisher stops, after it, stays in the spool. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#endHandover('spool');
  }

  #send(entry: Entry): void {
    this.#inFlight.add(entry);
    const publish = (record: OutgoingRecord) => {
      // A dead letter in parts publishes more than once: not after it was diverted.
      if (!this.#inFlight.has(entry)) return Promise.reject(new HooklineError('PUBLISH_DEADLINE'));
      return this.#parts.publisher.publish(record, this.#parts.publishDeadlineMs);
    };
    publishDelivery(entry.delivery, { ...this.#parts.delivery, publish }).then(
      (receipt) => {
        if (this.#inFlight.delete(entry)) entry.resolve(receipt);
      },
      (error) => {
        if (!this.#inFlight.has(entry)) return;
        if (isAway(error)) return this.#divert((error as Error).message);
        this.#inFlight.delete(entry);
        entry.reject(error);
      },
    );
  }

  async #append({ delivery, resolve, reject }: Entry): Promise<void> {
    try {
      await this.#parts.spool.append(delivery);
      resolve({ eventId: deliveryIdOf(delivery, this.#parts.delivery), stored: 'spool' });
    } catch (error) {
      reject(error);
    }
  }

  /** All that wait for Kafka go to the spool, the oldest first; so nothing can overtake what was not confirmed. */
  #divert(why: string): void {
    this.#state = 'spool';
    const entries = [...this.#inFlight];
    this.#inFlight.clear();
    for (const entry of entries) void this.#append(entry);
    this.#parts.publisher.dropWaiting();
    this.#parts.observer.diverted(why);
    this.#drain().catch((error) => {
      if (!this.#stopping.signal.aborted) this.#parts.observer.drainFailed(error);
    });
  }

  async #drain(): Promise<void> {
    const start = performance.now();
    const { spool, delivery, publisher, observer, large } = this.#parts;
    const publish = (record: OutgoingRecord) => publisher.publish(record, Number.POSITIVE_INFINITY);
    const parts = {
      spool,
      delivery: { ...delivery, publish },
      observer,
      stopping: this.#stopping.signal,
      ...(large && { large }),
      onNearlyEmpty: () => this.#beginHandover(),
    };
    let drained = 0;
    // Looked at in the same breath in which the state changes: nothing may come between.
    while (spool.outstanding > 0) drained += await drainSpool(parts);
    if (this.#stopping.signal.aborted) return;
    observer.drained(drained, (performance.now() - start) / 1_000);
    this.#endHandover('kafka');
  }

  #beginHandover(): void {
    if (this.#state !== 'spool') return;
    this.#state = 'handover';
    this.#handover = setTimeout(() => this.#endHandover('spool'), HANDOVER_MS);
  }

  #endHandover(state: 'kafka' | 'spool'): void {
    clearTimeout(this.#handover);
    this.#state = state;
    const held = this.#held;
    this.#held = [];
    for (const entry of held) {
      if (state === 'kafka') this.#send(entry);
      else void this.#append(entry);
    }
  }
}
