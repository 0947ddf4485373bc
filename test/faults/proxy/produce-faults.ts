import { createRandom, type Random } from '../random.ts';

/**
 * What becomes of a Produce response whose records the broker has written:
 * - `drop`: the connection breaks instead
 * - `swallow`: it never comes, the connection stays
 * - `delay`: it comes late, and so does all behind it on that connection
 */
export type ProduceFault = {
  readonly kind: 'drop' | 'swallow' | 'delay';
  readonly percent: number;
  readonly delayMs?: number;
};

export type FaultCounts = { requests: number; hit: number };

/**
 * Chooses which Produce responses are hit. Each client has a stream of its own: its n-th request at this broker meets
 * the same fate whatever other clients send.
 */
export class ProduceFaults {
  readonly #seed: number;
  readonly #broker: string;
  readonly #streams = new Map<string, Random>();
  readonly counts = new Map<string, FaultCounts>();
  #active: ProduceFault | null = null;

  constructor(seed: number, broker: string) {
    this.#seed = seed;
    this.#broker = broker;
  }

  set(fault: ProduceFault | null): void {
    this.#active = fault;
  }

  /** Decides at the request, so that the order of the responses doesn't matter. */
  choose(clientId: string): ProduceFault | null {
    const counts = this.counts.get(clientId) ?? { requests: 0, hit: 0 };
    this.counts.set(clientId, counts);
    counts.requests++;
    const random = this.#streams.get(clientId) ?? createRandom(this.#seed, `${this.#broker}/${clientId}`);
    this.#streams.set(clientId, random);
    const isHit = random.next() * 100 < (this.#active?.percent ?? 0);
    if (isHit) counts.hit++;
    return isHit ? this.#active : null;
  }
}
