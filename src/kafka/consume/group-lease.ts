import type kafkajs from 'kafkajs';

/** Requests by whose arrival the brokers count a member's session anew. */
const RENEWING = new Set(['Heartbeat', 'SyncGroup']);

/**
 * How long a member of a consumer group may go on without hearing of the group. It counts from when the request was
 * sent that was last answered, which is before the brokers began to count: so it is over here before another can have
 * the partitions, and an answer that is read after the process was frozen for an hour renews nothing.
 */
export class GroupLease {
  readonly #sessionTimeoutMs: number;
  #sentAt = performance.now();
  #begunAt = this.#sentAt;

  constructor(consumer: Pick<kafkajs.Consumer, 'on' | 'events'>, sessionTimeoutMs: number) {
    this.#sessionTimeoutMs = sessionTimeoutMs;
    consumer.on(consumer.events.REQUEST, ({ payload: { apiName, duration } }) => {
      if (RENEWING.has(apiName)) this.#sentAt = performance.now() - Math.max(0, duration);
    });
    // A request may as well be answered by a no: these two are told of a yes.
    consumer.on(consumer.events.HEARTBEAT, () => this.#renew());
    consumer.on(consumer.events.GROUP_JOIN, () => this.#renew());
  }

  get isOver(): boolean {
    return performance.now() - this.#begunAt >= this.#sessionTimeoutMs;
  }

  #renew(): void {
    this.#begunAt = this.#sentAt;
  }
}
