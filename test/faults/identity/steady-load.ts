import { Agent, request } from 'undici';
import { signatureOf } from '../../support/sign.ts';

type Keys = { readonly subscriptionId: string; readonly signingSecret: string };

/** What one target answered. */
export type Answers = {
  readonly statuses: Map<number, number>;
  /** Of each request from when it was due until its answer, in milliseconds. */
  latencies: number[];
  /** How many of each entity's events were sent; all were answered. */
  readonly sent: Map<string, number>;
};

const ENTITIES = 400;
const TICK_MS = 4;

/**
 * Webhooks at a steady rate, whatever is answered when (open loop). An entity's next event is sent when the one before
 * was answered: its order is then known.
 * @param options.url of ingress, with the ref
 * @param options.name the entities' common beginning
 */
export class SteadyLoad {
  readonly answers: Answers = { statuses: new Map(), latencies: [], sent: new Map() };
  readonly #options: { readonly url: string; readonly keys: Keys; readonly name: string };
  readonly #agent = new Agent({ connections: 64, pipelining: 1 });
  readonly #idle: string[];
  #timer: NodeJS.Timeout | undefined;
  #inProgress = 0;
  #idleEnd: (() => void) | undefined;

  constructor(options: { readonly url: string; readonly keys: Keys; readonly name: string }) {
    this.#options = options;
    this.#idle = Array.from({ length: ENTITIES }, (_, n) => `${options.name}-${n}`);
  }

  start(perSecond: number): void {
    const begin = performance.now();
    let due = 0;
    this.#timer = setInterval(() => {
      const now = performance.now();
      for (; due < ((now - begin) / 1_000) * perSecond; due++) this.#send(begin + (due / perSecond) * 1_000);
    }, TICK_MS);
  }

  /** Resolves when all that were sent are answered. */
  async stop(): Promise<Answers> {
    clearInterval(this.#timer);
    if (this.#inProgress > 0) await new Promise<void>((resolve) => (this.#idleEnd = resolve));
    await this.#agent.close();
    return this.answers;
  }

  #send(dueAt: number): void {
    const entityId = this.#idle.shift();
    // All wait for their answers: the rate is not kept, and the latencies say so.
    if (entityId === undefined) return;
    const n = this.answers.sent.get(entityId) ?? 0;
    this.answers.sent.set(entityId, n + 1);
    const body = JSON.stringify({ type: 'payment-status', entityId, payload: { status: 'ACCC', n } });
    this.#inProgress++;
    void this.#post(body)
      .then((status) => {
        const { statuses, latencies } = this.answers;
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        latencies.push(performance.now() - dueAt);
      })
      .finally(() => {
        this.#idle.push(entityId);
        if (--this.#inProgress === 0) this.#idleEnd?.();
      });
  }

  async #post(body: string): Promise<number> {
    const { url, keys } = this.#options;
    const headers = { 'content-type': 'application/json', 'x-signature-sha256': signatureOf(keys, body) };
    try {
      const answer = await request(url, { method: 'POST', headers, body, dispatcher: this.#agent });
      await answer.body.dump();
      return answer.statusCode;
    } catch {
      return 0;
    }
  }
}

/** @param share such as 0.99 */
export function percentile(latencies: readonly number[], share: number): number {
  const sorted = latencies.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
