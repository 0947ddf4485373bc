import {
  isLarge,
  type LargeBodyPublisher,
  type Receipt,
  type VerifiedDelivery,
} from '../../core/delivery.ts';
import { HooklineError, hasCode } from '../../core/errors.ts';
import type { OutgoingRecord } from '../../core/record.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import type { Spool } from '../../spool/spool.ts';
import type { DeliveryPorts, StorePublisher } from '../ports.ts';
import { deliveryIdOf, publishDelivery } from '../publish-delivery.ts';
import { type DrainObserver, drainSpool } from './drain-spool.ts';

export type SpoolingStorePorts = {
  /** Without `publish`: the store has its own deadlines. */
  readonly delivery: Omit<DeliveryPorts, 'publish'>;
  readonly spool: Pick<Spool, 'append' | 'read' | 'remove' | 'outstanding' | 'state'>;
  readonly publisher: Pick<StorePublisher, 'publish' | 'dropWaiting'>;
  /** After it Kafka counts as unavailable. */
  readonly publishDeadlineMs: number;
  /** Takes the large ones; without it they are published like all others. */
  readonly large?: LargeBodyPublisher;
  readonly observer: SpoolObserver;
  readonly clock: Clock;
};

export type SpoolObserver = DrainObserver & {
  /** The spool is in use from now on, and why. */
  spooling(why: string): void;
  /** It is empty, and Kafka is used again; what was in it since the last change. */
  drained(deliveries: number, seconds: number): void;
};

/** A delivery that isn't stored yet. */
type Entry = {
  readonly delivery: VerifiedDelivery;
  readonly resolve: (receipt: Receipt) => void;
  readonly reject: (error: unknown) => void;
};

/** The failures that mean: Kafka is unavailable, too slow, or takes no records. */
const isUnavailable = (error: unknown) =>
  hasCode(error, 'PUBLISH_DEADLINE', 'PUBLISH_BACKLOG_FULL', 'PUBLISH_REFUSED');

/** How long new deliveries wait at most while the last of the spool goes to Kafka; then they go behind it. */
const HANDOVER_MS = 1_000;

/**
 * Stores deliveries in Kafka, and while Kafka is unavailable in the spool; in the order of the calls, over all changes
 * between the two. Three states:
 * - `kafka`: straight to Kafka. When the first is not confirmed in time, all that wait go to the spool, in their order.
 * - `spool`: everything goes behind what is in the spool, which is drained meanwhile.
 * - `handover`: the spool is nearly empty. New ones wait for up to a second until it is: under steady traffic it would
 *   never be empty otherwise.
 */
export class SpoolingStore {
  readonly #ports: SpoolingStorePorts;
  #state: 'kafka' | 'spool' | 'handover' = 'kafka';
  /** Being published, in the order of their arrival. */
  readonly #inFlight = new Set<Entry>();
  /** They wait for the end of a handover, in the order of their arrival. */
  #queued: Entry[] = [];
  #handover: Timer | undefined;
  readonly #stopping = new AbortController();

  /** What an earlier process left in the spool is drained first. */
  constructor(ports: SpoolingStorePorts) {
    this.#ports = ports;
    if (ports.spool.outstanding > 0) this.#startSpooling('an earlier process left deliveries in it');
  }

  /** @throws HooklineError SPOOL_FULL, SPOOL_FAILING, and what publishDelivery throws: nothing is promised */
  store(delivery: VerifiedDelivery): Promise<Receipt> {
    if (this.#ports.large && isLarge(delivery)) return this.#storeLarge(delivery, this.#ports.large);
    return new Promise((resolve, reject) => {
      const entry = { delivery, resolve, reject };
      if (this.#state === 'kafka') this.#send(entry);
      else if (this.#state === 'spool') void this.#append(entry);
      else this.#queued.push(entry);
    });
  }

  /**
   * A large one takes its own way to Kafka, and so its own turn to the spool: it waits behind no small one and none waits
   * behind it. An entity's order holds all the same for those whose answers were waited for.
   */
  async #storeLarge(delivery: VerifiedDelivery, large: LargeBodyPublisher): Promise<Receipt> {
    const deadlineMs = () => {
      if (this.#state !== 'kafka') throw new HooklineError('PUBLISH_DEADLINE', 'the spool is in use');
      return this.#ports.publishDeadlineMs;
    };
    let unavailable: unknown;
    try {
      return await large.store(delivery, deadlineMs);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      unavailable = error;
    }
    const eventId = await large.identify(delivery);
    const appended = this.#ports.spool.append(delivery);
    // It is in the spool's count by now: the drain that begins here, or is under way, will find it.
    if (this.#state === 'kafka') this.#startSpooling((unavailable as Error).message);
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
      // A dead-letter record in parts is published more than once: not after it went to the spool.
      if (!this.#inFlight.has(entry)) return Promise.reject(new HooklineError('PUBLISH_DEADLINE'));
      return this.#ports.publisher.publish(record, this.#ports.publishDeadlineMs);
    };
    publishDelivery(entry.delivery, { ...this.#ports.delivery, publish }).then(
      (receipt) => {
        if (this.#inFlight.delete(entry)) entry.resolve(receipt);
      },
      (error) => {
        if (!this.#inFlight.has(entry)) return;
        if (isUnavailable(error)) return this.#startSpooling((error as Error).message);
        this.#inFlight.delete(entry);
        entry.reject(error);
      },
    );
  }

  async #append({ delivery, resolve, reject }: Entry): Promise<void> {
    try {
      await this.#ports.spool.append(delivery);
      resolve({ eventId: deliveryIdOf(delivery, this.#ports.delivery), stored: 'spool' });
    } catch (error) {
      reject(error);
    }
  }

  /** All that wait for Kafka go to the spool, the oldest first; so nothing can overtake what was not confirmed. */
  #startSpooling(why: string): void {
    this.#state = 'spool';
    const entries = [...this.#inFlight];
    this.#inFlight.clear();
    for (const entry of entries) void this.#append(entry);
    this.#ports.publisher.dropWaiting();
    this.#ports.observer.spooling(why);
    this.#drain().catch((error) => {
      if (!this.#stopping.signal.aborted) this.#ports.observer.drainFailed(error);
    });
  }

  async #drain(): Promise<void> {
    const start = this.#ports.clock.now();
    const { spool, delivery, publisher, observer, large, clock } = this.#ports;
    const publish = (record: OutgoingRecord) => publisher.publish(record, Number.POSITIVE_INFINITY);
    const ports = {
      spool,
      clock,
      delivery: { ...delivery, publish },
      observer,
      stopping: this.#stopping.signal,
      ...(large && { large }),
      onNearlyEmpty: () => this.#beginHandover(),
    };
    let drained = 0;
    // Checked in the same turn of the event loop in which the state changes: nothing may come between.
    while (spool.outstanding > 0) drained += await drainSpool(ports);
    if (this.#stopping.signal.aborted) return;
    observer.drained(drained, (this.#ports.clock.now() - start) / 1_000);
    this.#endHandover('kafka');
  }

  #beginHandover(): void {
    if (this.#state !== 'spool') return;
    this.#state = 'handover';
    this.#handover = this.#ports.clock.after(HANDOVER_MS, () => this.#endHandover('spool'));
  }

  #endHandover(state: 'kafka' | 'spool'): void {
    this.#handover?.cancel();
    this.#state = state;
    const queued = this.#queued;
    this.#queued = [];
    for (const entry of queued) {
      if (state === 'kafka') this.#send(entry);
      else void this.#append(entry);
    }
  }
}
