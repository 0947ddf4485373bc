import type kafkajs from 'kafkajs';
import type { Clock } from '../../runtime/clock.ts';

/** How often a lease is looked at by those who do nothing. */
export const LEASE_CHECK_MS = 500;

/** Milliseconds on both clocks. */
type Instant = { readonly now: number; readonly wall: number };

/** The requests that renew a member's session at the brokers. */
const RENEWING = new Set(['Heartbeat', 'SyncGroup']);

/**
 * How long a member of a consumer group may go on without hearing of the group. It counts from when the request was
 * sent that was last answered, which is before the brokers began to count: so it is over here before another can have
 * the partitions, and an answer that is read after the process was frozen for an hour renews nothing. Time is what either clock
 * says: one stands still while a machine is suspended, the other may be set back.
 */
export class GroupLease {
  readonly #sessionTimeoutMs: number;
  readonly #clock: Pick<Clock, 'now' | 'wall'>;
  #sentAt: Instant;
  #begunAt: Instant;

  constructor(
    consumer: Pick<kafkajs.Consumer, 'on' | 'events'>,
    sessionTimeoutMs: number,
    clock: Pick<Clock, 'now' | 'wall'>,
  ) {
    this.#clock = clock;
    this.#sentAt = { now: clock.now(), wall: clock.wall() };
    this.#begunAt = this.#sentAt;
    this.#sessionTimeoutMs = sessionTimeoutMs;
    consumer.on(consumer.events.REQUEST, ({ payload: { apiName, duration, createdAt } }) => {
      if (!RENEWING.has(apiName)) return;
      // The duration is of the clock that stands still while the machine is suspended (kafkajs-patches.ts).
      this.#sentAt = { now: clock.now() - Math.max(0, duration), wall: createdAt };
    });
    // A request may be answered by a refusal; these two events follow success only.
    consumer.on(consumer.events.HEARTBEAT, () => this.#renew());
    consumer.on(consumer.events.GROUP_JOIN, () => this.#renew());
  }

  get isOver(): boolean {
    return this.leftMs <= 0;
  }

  /** Unless it is renewed. */
  get leftMs(): number {
    const { now, wall } = this.#begunAt;
    return this.#sessionTimeoutMs - Math.max(this.#clock.now() - now, this.#clock.wall() - wall);
  }

  #renew(): void {
    this.#begunAt = this.#sentAt;
  }
}
