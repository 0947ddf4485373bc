import type { Socket } from 'node:net';

/** How the way is at present; shared by all connections of a proxy. */
export type Conditions = {
  /** Nothing passes, nothing breaks: as when packets are lost on the way. */
  blackhole: boolean;
  /** Milliseconds on each way. */
  latencyMs: number;
};

type Held = { readonly due: number; readonly bytes: Buffer };

/** One direction of a connection: what comes in goes out in order, as late as the conditions say. */
export class Link {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #conditions: Conditions;
  readonly #held: Held[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(from: Socket, to: Socket, conditions: Conditions) {
    this.#from = from;
    this.#to = to;
    this.#conditions = conditions;
  }

  /** @param delayMs of these bytes, and so of all behind them */
  pass(bytes: Buffer, delayMs = 0): void {
    const now = performance.now();
    const due = now + delayMs + this.#conditions.latencyMs;
    if (due <= now && this.#held.length === 0 && !this.#conditions.blackhole) return this.#write(bytes);
    this.#held.push({ due, bytes });
    this.release();
  }

  /** Lets go what is due, and is not behind what isn't; called when the conditions change. */
  release(): void {
    clearTimeout(this.#timer);
    if (this.#conditions.blackhole) return;
    const now = performance.now();
    while (this.#held.length > 0 && (this.#held[0]?.due ?? 0) <= now) this.#write(this.#held.shift()?.bytes);
    const [next] = this.#held;
    if (next) this.#timer = setTimeout(() => this.release(), Math.max(1, next.due - now));
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#held.length = 0;
  }

  #write(bytes: Buffer | undefined): void {
    if (bytes === undefined || this.#to.destroyed || this.#to.write(bytes)) return;
    this.#from.pause();
    this.#to.once('drain', () => this.#from.resume());
  }
}
