import type { Line, Target } from './target.ts';
import type { WireRequest } from './wire-request.ts';

/** A request that was written, and what became of it. */
export type Exchange = {
  readonly request: WireRequest;
  answer: Buffer | undefined;
  /** Nobody waits for an answer any more. */
  isClosed: boolean;
};

/** How the connection fails a request. */
export type LineFault =
  /** Its bytes come in pieces. */
  | 'pieces'
  /** The connection breaks before all of it is sent. */
  | 'half'
  /** The connection breaks right behind it: it may have arrived. */
  | 'open'
  /** The connection breaks before its answer is read: it was carried out. */
  | 'lost';

const ANSWERED_MS = 15_000;
const PIECE_MS = 2;

/** Requests and answers over one connection, which is made again after it was reset. */
export class Conversation {
  readonly #target: Target;
  readonly #broker: number;
  #line: Line | undefined;
  #received: Buffer = Buffer.alloc(0);
  #waiting = new Map<number, Exchange>();
  #lastId = 0;

  constructor(target: Target, broker = 1) {
    this.#target = target;
    this.#broker = broker;
  }

  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Writes a request; the exchange gets its answer when it comes. */
  async write(request: WireRequest, fault?: LineFault): Promise<Exchange> {
    const exchange: Exchange = { request, answer: undefined, isClosed: false };
    const id = ++this.#lastId;
    const frame = await request.frame(id);
    this.#line ??= await this.#target.connect(this.#broker, {
      data: (bytes) => this.#take(bytes),
      closed: () => this.#closed(),
    });
    if (!this.#line) {
      exchange.isClosed = true;
      return exchange;
    }
    const line = this.#line;
    this.#waiting.set(id, exchange);
    const inPieces = fault === 'pieces' || fault === 'half';
    const middle = Math.floor(frame.length / 2);
    line.write(inPieces ? frame.subarray(0, middle) : frame);
    if (inPieces) await this.#target.pass(PIECE_MS);
    if (fault === 'pieces') line.write(frame.subarray(middle));
    if (fault === 'lost') await this.answered([exchange]);
    if (fault !== undefined && fault !== 'pieces') this.reset();
    return exchange;
  }

  /** Waits until all of these are answered, or broken. @returns whether they are */
  answered(exchanges: readonly Exchange[], ms = ANSWERED_MS): Promise<boolean> {
    return this.#target.pass(ms, () =>
      exchanges.every(({ answer, isClosed }) => isClosed || answer !== undefined),
    );
  }

  reset(): void {
    this.#line?.reset();
    this.#closed();
  }

  #take(bytes: Buffer): void {
    this.#received = Buffer.concat([this.#received, bytes]);
    while (this.#received.length >= 4) {
      const end = this.#received.readInt32BE(0) + 4;
      if (this.#received.length < end) return;
      const frame = this.#received.subarray(4, end);
      this.#received = this.#received.subarray(end);
      const id = frame.readInt32BE(0);
      const [first] = this.#waiting.keys();
      if (first !== id) throw new Error(`${this.#target.name} answered ${id} before ${first}`);
      const exchange = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (exchange) exchange.answer = frame;
    }
  }

  #closed(): void {
    for (const exchange of this.#waiting.values()) exchange.isClosed = true;
    this.#waiting = new Map();
    this.#received = Buffer.alloc(0);
    this.#line = undefined;
  }
}
