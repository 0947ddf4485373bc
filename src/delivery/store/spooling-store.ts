import {
  isLarge,
  type LargeBodyPublisher,
  type Receipt,
  type VerifiedDelivery,
} from '../../core/delivery.ts';
import { HooklineError } from '../../core/errors.ts';
import type { OutgoingRecord } from '../../core/record.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Spool } from '../../spool/spool.ts';
import { isForObjectStore, orderKey } from '../claim-check.ts';
import type { DeliveryPorts, StorePublisher } from '../ports.ts';
import { identifyDelivery, publishDelivery } from '../publish-delivery.ts';
import type { DrainPorts } from './drain-row.ts';
import { Handover } from './handover.ts';
import { type Entry, InFlight } from './in-flight.ts';
import { keepDraining } from './keep-draining.ts';
import type { SpoolObserver } from './observe-spool.ts';
import { isUnavailable, storeLarge } from './store-large.ts';
import type { WaitingRows } from './waiting-rows.ts';

export type SpoolingStorePorts = {
  /** Without `publish`: the store has its own deadlines. */
  readonly delivery: Omit<DeliveryPorts, 'publish'>;
  readonly spool: Pick<Spool, 'append'> & DrainPorts['spool'];
  readonly publisher: Pick<StorePublisher, 'publish' | 'dropWaiting'>;
  /** After it Kafka counts as unavailable. */
  readonly publishDeadlineMs: number;
  /** Takes the large ones; without it they are published like all others. */
  readonly large?: LargeBodyPublisher;
  /** Resolves when all keys are known: what an earlier process left could not be opened before. */
  readonly keysKnown?: Promise<unknown> | undefined;
  readonly observer: SpoolObserver;
  readonly clock: Clock;
};

const BEHIND_OTHERS = 'earlier messages of the key wait for the object store';

/**
 * Stores deliveries in Kafka, and while Kafka is unavailable in the spool; in the order of the calls, over all changes
 * between the two. When the first is not confirmed in time, all that wait go to the spool, in their order, and everything
 * later behind them, until the spool is drained. While only the object store takes nothing, events that need it go to
 * the spool, large ones and later ones of their keys behind them, and all others to Kafka.
 */
export class SpoolingStore {
  readonly #ports: SpoolingStorePorts;
  /** Everything goes to the spool. */
  #isSpooling = false;
  /** Keys of what is in the spool because of the object store; see {@link orderKey}. */
  readonly #held = new Set<string>();
  readonly #handover: Handover<Entry>;
  readonly #inFlight = new InFlight();
  #isDraining = false;
  readonly #stopping = new AbortController();

  /** What an earlier process left in the spool is drained first. */
  constructor(ports: SpoolingStorePorts) {
    this.#ports = ports;
    // As another entry: what is left of a try before must not send its record.
    this.#handover = new Handover(ports.clock, (entry) => this.#take({ ...entry, hasWaited: true }));
    if (ports.spool.outstanding > 0) this.#startSpooling('an earlier process left deliveries in it');
  }

  /** @throws HooklineError SPOOL_FULL, SPOOL_FAILING, and what publishDelivery throws: nothing is promised */
  store(delivery: VerifiedDelivery): Promise<Receipt> {
    if (this.#ports.large && isLarge(delivery)) return this.#storeLarge(delivery, this.#ports.large);
    return new Promise((resolve, reject) => this.#take({ delivery, resolve, reject }));
  }

  #storeLarge(delivery: VerifiedDelivery, large: LargeBodyPublisher): Promise<Receipt> {
    const { spool, delivery: own, publishDeadlineMs } = this.#ports;
    return storeLarge(delivery, large, {
      spool,
      claims: own.claims,
      publishDeadlineMs,
      isSpooling: () => this.#isSpooling,
      isHolding: () => this.#held.size > 0,
      isHeld: (order) => this.#held.has(order),
      hold: (order, why) => this.#hold(order, why),
      startSpooling: (why) => this.#startSpooling(why),
    });
  }

  /** Whether all new events go to the spool. */
  get isSpooling(): boolean {
    return this.#isSpooling;
  }

  /** Ends the drain: what is not confirmed when the publisher stops, after it, stays in the spool. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#isSpooling = true;
    this.#handover.end();
  }

  #take(entry: Entry): void {
    if (this.#isSpooling) this.#toSpool(entry);
    else this.#send(entry);
  }

  #send(entry: Entry): void {
    this.#inFlight.add(entry);
    const ports = { ...this.#ports.delivery, publish: this.#publishOf(entry) };
    publishDelivery(entry.delivery, ports).then(
      (receipt) => this.#settle(entry, () => entry.resolve(receipt)),
      (error) => {
        const isOurs = this.#inFlight.has(entry);
        if (isOurs && isUnavailable(error)) this.#startSpooling((error as Error).message);
        else this.#settle(entry, () => entry.reject(error));
      },
    );
  }

  #settle(entry: Entry, answer: () => void): void {
    if (this.#inFlight.has(entry) && this.#inFlight.take(entry)) answer();
    for (const order of this.#inFlight.deferredOrders)
      if (!this.#inFlight.isSent(order)) this.#hold(order, BEHIND_OTHERS);
  }

  #publishOf(entry: Entry): DeliveryPorts['publish'] {
    const { delivery, publisher, publishDeadlineMs, clock } = this.#ports;
    // Its delivery went to the spool: a dead-letter record in parts is published more than once, and others wait for an object.
    const skipped = () => Promise.reject(new HooklineError('PUBLISH_DEADLINE'));
    const send = (record: OutgoingRecord) =>
      this.#inFlight.has(entry) ? publisher.publish(record, publishDeadlineMs) : skipped();
    const { claims } = delivery;
    if (!claims) return send;
    return (record, object) => {
      const order = orderKey(record);
      if (this.#held.has(order) || this.#inFlight.isDeferring(order)) {
        this.#inFlight.defer(entry, order);
        this.#hold(order, BEHIND_OTHERS);
        return skipped();
      }
      let isSent = false;
      const sendInTurn = (wanted: OutgoingRecord) => {
        isSent = true;
        if (this.#inFlight.has(entry)) this.#inFlight.send(entry, order);
        return send(wanted);
      };
      const position = claims.publish(record, object, sendInTurn, (error) => {
        if (isForObjectStore(error)) this.#holdIfWaiting(entry, error.message);
      });
      if (isSent) return position;
      this.#inFlight.wait(entry, order);
      // One with an object has the store's own deadline, which began with the write.
      const why = `an earlier message of the key takes longer than ${publishDeadlineMs} ms`;
      if (!object) clock.after(publishDeadlineMs, () => this.#holdIfWaiting(entry, why), { ref: false });
      return position;
    };
  }

  #holdIfWaiting(entry: Entry, why: string): void {
    const order = this.#inFlight.waitsFor(entry);
    if (order !== undefined) this.#hold(order, why);
  }

  /**
   * Deliveries of this key go to the spool from now on, those that wait for its objects first; see {@link InFlight.defer}. One
   * is on its way there, or the drain would end it at once.
   */
  #hold(order: string, why: string): void {
    if (this.#held.size === 0 && !this.#isSpooling) this.#ports.observer.holding(why);
    this.#held.add(order);
    this.#inFlight.deferWaiting(order);
    const isSent = this.#inFlight.isSent(order);
    for (const entry of isSent ? [] : this.#inFlight.takeDeferred(order)) this.#toSpool(entry);
    if (!isSent || this.#ports.spool.outstanding > 0) this.#startDrain();
  }

  #toSpool(entry: Entry): void {
    if (entry.hasWaited || !this.#handover.queue(entry)) void this.#append(entry);
  }

  async #append({ delivery, resolve, reject }: Entry): Promise<void> {
    try {
      await this.#ports.spool.append(delivery);
      resolve({ eventId: identifyDelivery(delivery, this.#ports.delivery).eventId, stored: 'spool' });
    } catch (error) {
      reject(error);
    }
  }

  /** All that wait for Kafka go to the spool, the oldest first; so nothing can overtake what was not confirmed. */
  #startSpooling(why: string): void {
    this.#isSpooling = true;
    const entries = this.#inFlight.takeAll();
    // Those that wait for a handover came later.
    for (const entry of entries) void this.#append(entry);
    this.#handover.end();
    this.#ports.publisher.dropWaiting();
    this.#ports.observer.spooling(why);
    this.#startDrain();
  }

  /** Rows may be readable that nobody drains: a key was renewed, or a disk works again. */
  wake(): void {
    if (this.#isDraining || this.#stopping.signal.aborted || this.#ports.spool.outstanding === 0) return;
    this.#startSpooling('deliveries in it can be read again');
  }

  #startDrain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    // A stop ends it. Anything else ends the process: nobody would empty it before a restart.
    this.#drain().catch((error) => this.#stopping.signal.aborted || Promise.reject(error));
  }

  async #drain(): Promise<void> {
    const { spool, delivery, publisher, observer, large, clock } = this.#ports;
    const start = clock.now();
    const ports: DrainPorts = {
      spool,
      clock,
      delivery,
      observer,
      stopping: this.#stopping.signal,
      ...(large && { large }),
      send: (record) => publisher.publish(record, Number.POSITIVE_INFINITY),
      onNearlyEmpty: () => this.#beginHandover(),
      onOnlyWaiting: (waiting) => this.#sendOthers(waiting),
      onHeld: (order) => this.#held.add(order),
    };
    await this.#ports.keysKnown;
    let drained = 0;
    // Checked in the same turn of the event loop in which the state changes: nothing may come between.
    while (spool.outstanding > 0) drained += await keepDraining(ports);
    if (this.#stopping.signal.aborted) return;
    this.#isDraining = false;
    this.#held.clear();
    this.#isSpooling = false;
    this.#handover.end();
    observer.drained(drained, (clock.now() - start) / 1_000);
  }

  /** What is left in the spool waits for the object store: all other events go to Kafka, also those of keys that waited. */
  #sendOthers({ orders, why }: Pick<WaitingRows, 'orders' | 'why'>): void {
    for (const order of this.#held.size > orders.size ? this.#held : [])
      if (!orders.has(order)) this.#held.delete(order);
    if (this.#isSpooling) this.#ports.observer.holding(why);
    this.#isSpooling = false;
    this.#handover.end();
  }

  #beginHandover(): void {
    // What waits for the object store would not be gone after a second.
    const isWaiting = !this.#isSpooling && this.#ports.delivery.claims?.trouble != null;
    if (!isWaiting) this.#handover.begin();
  }
}
