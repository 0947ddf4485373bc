import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'undici';
import { Answers } from './answers.ts';
import { Webhooks } from './webhooks.ts';

export type Traffic = {
  readonly url: string;
  readonly seed: number;
  /** Each has one request under way at a time, so that the order of its events is defined. */
  readonly entities: number;
  /** Number of each entity's first event; 0 unless given. */
  readonly firstNumber?: number;
  /** Over all entities; as many as the receiver takes where it isn't given. */
  readonly perSecond?: number;
  /** After it the provider gives up a request and sends it again. */
  readonly answerWithinMs: number;
  /** Between a request that wasn't acknowledged and its repetition. */
  readonly againAfterMs: number;
  /** Whether the answers bear the event ids of the contract. */
  readonly answersEventIds: boolean;
};

/** What the sender found to be wrong by itself. */
export type Sent = {
  readonly answers: Answers;
  /** Tampered webhooks that were sent, and those that were not refused with a 4xx. */
  readonly tampered: { sent: number; taken: number };
  /** Acknowledgements whose event id isn't that of the event. */
  readonly wrongIds: number;
  /** Requests without an answer, by the error's code or message. */
  readonly errors: Readonly<Record<string, number>>;
};

type Reply = { status: number; text: string };

const TAMPER_EVERY_MS = 100;

/**
 * The provider, as the interface lets it be: keep-alive connections, per entity one event after the other, and
 * what isn't acknowledged is sent again until it is. Each entity has its own connection, so that none is idle for long:
 * a process that stops closes those that are, and a request that crosses the closing gets no answer (RFC 9112, 9.5).
 */
export class Sender {
  readonly #traffic: Traffic;
  readonly #webhooks: Webhooks;
  /** By entity, then that of the tampered webhooks. */
  readonly #connections: readonly Client[];
  readonly #answers = new Answers();
  readonly #stopping = new AbortController();
  readonly #errors: Record<string, number> = {};
  /** By entity, when its last acknowledged request was begun. */
  readonly #ackedSince: Float64Array;
  readonly #tampered = { sent: 0, taken: 0 };
  readonly #running: Promise<unknown>;
  #wrongIds = 0;
  #acked = 0;

  constructor(traffic: Traffic) {
    this.#traffic = traffic;
    this.#webhooks = new Webhooks(traffic.seed);
    this.#ackedSince = new Float64Array(traffic.entities);
    const options = {
      headersTimeout: traffic.answerWithinMs,
      bodyTimeout: traffic.answerWithinMs,
      keepAliveTimeout: 60_000,
    };
    const tampering = new Client(traffic.url, options);
    const clients = Array.from({ length: traffic.entities }, () => new Client(traffic.url, options));
    this.#connections = [...clients, tampering];
    const entities = clients.map((client, entity) => this.#sendAllOf(entity, client));
    this.#running = Promise.all([...entities, this.#sendTampered(tampering)]);
  }

  get acked(): number {
    return this.#acked;
  }

  /** Whether every entity had a request acknowledged that was begun after this time. */
  hasRecoveredSince(time: number): boolean {
    return this.#ackedSince.every((since) => since >= time);
  }

  /** Ends after the requests that are under way. */
  async stop(): Promise<Sent> {
    this.#stopping.abort();
    await this.#running;
    await Promise.all(this.#connections.map((client) => client.destroy()));
    const { answers, tampered, errors, wrongIds } = {
      answers: this.#answers,
      tampered: this.#tampered,
      errors: this.#errors,
      wrongIds: this.#wrongIds,
    };
    return { answers, tampered, errors, wrongIds };
  }

  async #sendAllOf(entity: number, client: Client): Promise<void> {
    const { perSecond, entities, againAfterMs, firstNumber = 0 } = this.#traffic;
    const everyMs = perSecond === undefined ? 0 : (entities / perSecond) * 1_000;
    let due = performance.now() + (everyMs * entity) / entities;
    let number = firstNumber;
    while (!this.#stopping.signal.aborted) {
      const wait = due - performance.now();
      if (wait > 1) await this.#pause(wait);
      if (this.#stopping.signal.aborted) return;
      const isAcked = await this.#send(entity, number, client);
      if (isAcked) number++;
      else await this.#pause(againAfterMs);
      due = Math.max(due + everyMs, performance.now() - everyMs);
    }
  }

  async #send(entity: number, number: number, client: Client): Promise<boolean> {
    const sentAt = Date.now();
    const begin = performance.now();
    const { status, text } = await this.#post(client, this.#webhooks.requestFor(entity, number));
    const tookMs = performance.now() - begin;
    const spooled = text.includes('"stored":"spool"');
    this.#answers.add({ entity, number, sentAt, tookMs, status, spooled });
    if (status !== 200) return false;
    this.#acked++;
    this.#ackedSince[entity] = sentAt;
    if (this.#traffic.answersEventIds && !text.includes(this.#webhooks.eventIdOf(entity, number))) {
      this.#wrongIds++;
    }
    return true;
  }

  async #sendTampered(client: Client): Promise<void> {
    for (let number = 0; !this.#stopping.signal.aborted; number++) {
      const { status } = await this.#post(client, this.#webhooks.tamperedRequest(0, number));
      this.#tampered.sent++;
      if (status >= 200 && status < 300) this.#tampered.taken++;
      await this.#pause(TAMPER_EVERY_MS);
    }
  }

  /** Status 0 where no answer came. */
  async #post(client: Client, { path, headers, body }: ReturnType<Webhooks['requestFor']>): Promise<Reply> {
    try {
      const answer = await client.request({ path, method: 'POST', headers, body });
      return { status: answer.statusCode, text: await answer.body.text() };
    } catch (error) {
      const { code = String(error) } = error as { code?: string };
      this.#errors[code] = (this.#errors[code] ?? 0) + 1;
      return { status: 0, text: '' };
    }
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stopping.signal }).catch(() => {});
  }
}
