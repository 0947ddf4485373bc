import type { Socket } from 'node:net';
import { IncomingMessage } from '../../runtime/node-http.ts';
import { isProven } from './open-bodies.ts';
import { Pieces, SMALL_CHUNK_BYTES } from './pieces.ts';

/**
 * Node has an event and an object for each chunk of a body, also while nobody reads it: some microseconds, and many times the memory
 * of a chunk of few bytes; one that lies across the end of what Node has read comes as two. So many of them a connection may send that
 * has not delivered a verified webhook; beyond that they have so many bytes on average.
 */
const MAX_SMALL_CHUNKS = 512;
const MIN_AVERAGE_BYTES = 16;
/** A body of fewer passes, also on a connection of a proxy that has carried many of others. */
const FEW_CHUNKS = 16;
/** A chunk costs as much time as so many bytes, though it has one. */
const MIN_COST_BYTES = 1_024;

/** The code of the error that a connection ends with. */
export const FRAGMENTED = 'HOOKLINE_BODY_FRAGMENTED';

const COUNTS = Symbol('what has come in chunks');

/** Who takes a body that comes in one piece: without the stream that it would pass, which costs as much as its signature. */
export type WholeTaker = {
  /** Content-Length */
  readonly length: number;
  take(body: Buffer): void;
  /** It comes in another way: read it as a stream. Called before anything of it is there. */
  readOn(): void;
};

/** Node's own way to end a request that nobody reads as a stream, which it has for those without a body. Older releases of Node 24 have none. */
type Closing = { _dumpAndCloseReadable?(): void };
const CAN_CLOSE = (IncomingMessage.prototype as Closing)._dumpAndCloseReadable !== undefined;

/**
 * Hands the body over to `taker`, unless the returned function is called before.
 * @returns undefined where it can only be read as a stream
 */
export function takeWhole(request: object, taker: WholeTaker): (() => void) | undefined {
  if (!CAN_CLOSE || !('taker' in request)) return undefined;
  const counted = request as Counted;
  counted.taker = taker;
  return () => {
    counted.taker = undefined;
  };
}

type Counts = { chunks: number; bytes: number; isCut?: boolean; isRefused?: boolean };
type CountedSocket = Socket & { [COUNTS]?: Counts };

/** What is known of a request beyond what Node knows. */
type Counted = {
  /** Chunks that were not charged yet, see {@link costOf}. */
  chunks: number;
  /** A part of its body was dropped. */
  isCut: boolean;
  taker: WholeTaker | undefined;
};

/**
 * Requests as Node has them, which join small chunks that come together, and take no more of a body that comes in too small ones: of
 * all requests of a connection, as each may have few. Such a request emits `cut`.
 * @param refuse called once for such a connection, when it is read no more
 */
export function countedRequests(refuse: (socket: Socket) => void): typeof IncomingMessage {
  return class CountedRequest extends IncomingMessage implements Counted {
    chunks = 0;
    isCut = false;
    taker: WholeTaker | undefined;
    /** Of its body. */
    readonly #own: Counts = { chunks: 0, bytes: 0 };
    #held: Pieces | undefined;
    #whole: Buffer | undefined;

    override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
      // Nor its end: what was dropped is missing.
      if (this.isCut) return false;
      if (chunk === null) {
        if (this.#whole) return this.#handOver(this.#whole);
        this.#readOn();
        this.#flush();
        return super.push(chunk, encoding);
      }
      const { socket } = this;
      const all = countsOf(socket);
      count(all, chunk.length);
      count(this.#own, chunk.length);
      const isMany = isAbove(all, MAX_SMALL_CHUNKS) && isAbove(this.#own, FEW_CHUNKS);
      if (isMany && !isProven(socket)) return this.#cut(all);
      this.chunks++;
      if (chunk.length === this.taker?.length) {
        this.#whole = chunk;
        return true;
      }
      this.#readOn();
      // The first is often the only one.
      if (this.#own.chunks > 1 && chunk.length < SMALL_CHUNK_BYTES) return this.#hold(chunk);
      this.#flush();
      return super.push(chunk, encoding);
    }

    override _read(size: number): void {
      if (!this.isCut) super._read(size);
    }

    #handOver(whole: Buffer): boolean {
      const { taker } = this;
      this.taker = undefined;
      this.#whole = undefined;
      (this as Closing)._dumpAndCloseReadable?.();
      taker?.take(whole);
      return false;
    }

    #readOn(): void {
      const { taker } = this;
      this.taker = undefined;
      taker?.readOn();
    }

    /** Until all is parsed that Node reads at once; false: it should read no more before. */
    #hold(chunk: Buffer): boolean {
      if (!this.#held) setImmediate(() => this.#flush());
      this.#held ??= new Pieces();
      this.#held.push(chunk);
      return this.#held.length < this.readableHighWaterMark;
    }

    #flush(): void {
      const held = this.#held;
      this.#held = undefined;
      // As Node does where a stream takes no more.
      if (held && !this.isCut && !super.push(held.join())) this.socket.pause();
    }

    #cut(counts: Counts): boolean {
      this.isCut = true;
      counts.isCut = true;
      this.#held?.release();
      this.#held = undefined;
      // At once: Node would read and parse two megabytes first.
      this.socket.pause();
      // Not while it parses.
      setImmediate(() => {
        if (!counts.isRefused) refuse(this.socket);
        counts.isRefused = true;
        this.emit('cut');
      });
      return false;
    }
  };
}

/** Whether a part of this request's body was dropped. */
export const isCut = (request: object): boolean => (request as Partial<Counted>).isCut === true;

/** Whether one of this connection's requests was: what Node has read behind it is none any more. */
export const isCutOff = (socket: CountedSocket): boolean => socket[COUNTS]?.isCut === true;

/** What reading so many bytes of a request has cost, in bytes of a body that comes in large pieces. */
export function costOf(request: object, bytes: number): number {
  const counted = request as Partial<Counted>;
  const { chunks = 1 } = counted;
  counted.chunks = 0;
  return Math.max(bytes, chunks * MIN_COST_BYTES);
}

function countsOf(socket: CountedSocket): Counts {
  socket[COUNTS] ??= { chunks: 0, bytes: 0 };
  return socket[COUNTS];
}

function count(counts: Counts, bytes: number): void {
  counts.chunks++;
  counts.bytes += bytes;
}

const isAbove = ({ chunks, bytes }: Counts, most: number): boolean =>
  chunks > most && bytes < chunks * MIN_AVERAGE_BYTES;
