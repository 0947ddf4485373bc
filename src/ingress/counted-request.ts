import type { Socket } from 'node:net';
import { IncomingMessage } from '../runtime/node-http.ts';
import { isProven } from './body/open-bodies.ts';

/**
 * Node has an event and an object for each chunk of a body, also while nobody reads it: some microseconds, and many times the memory
 * of a chunk of few bytes. So many of them a connection may send that has not delivered a verified webhook; beyond that its chunks
 * have so many bytes on average.
 */
const MAX_SMALL_CHUNKS = 512;
const MIN_AVERAGE_BYTES = 32;

/** The code of the error that a connection ends with. */
export const FRAGMENTED = 'HOOKLINE_BODY_FRAGMENTED';

const COUNTS = Symbol('what has come in chunks');

type Counts = { chunks: number; bytes: number; isRefused: boolean };
type CountedSocket = Socket & { [COUNTS]?: Counts };

/**
 * Requests as Node has them, which take no more of a body that comes in too small chunks: of all requests of a connection, as each may
 * have few.
 * @param refuse called once for such a connection, when it is read no more
 */
export function countedRequests(refuse: (socket: Socket) => void): typeof IncomingMessage {
  return class CountedRequest extends IncomingMessage {
    /** It is not given further. */
    isCut = false;

    override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
      // Nor its end: what was dropped is missing.
      if (this.isCut) return false;
      const { socket } = this;
      const counts = chunk && countsOf(socket);
      if (!counts || !isFragmented(counts, chunk.length) || isProven(socket))
        return super.push(chunk, encoding);
      this.isCut = true;
      if (counts.isRefused) return false;
      counts.isRefused = true;
      // At once: Node would read and parse two megabytes first.
      socket.pause();
      // Not while it parses.
      setImmediate(refuse, socket);
      return false;
    }

    override _read(size: number): void {
      if (!this.isCut) super._read(size);
    }
  };
}

/** Whether a part of this request's body was dropped. */
export const isCut = (request: object): boolean => (request as { isCut?: boolean }).isCut === true;

function countsOf(socket: CountedSocket): Counts {
  socket[COUNTS] ??= { chunks: 0, bytes: 0, isRefused: false };
  return socket[COUNTS];
}

function isFragmented(counts: Counts, bytes: number): boolean {
  counts.chunks++;
  counts.bytes += bytes;
  return counts.chunks > MAX_SMALL_CHUNKS && counts.bytes < counts.chunks * MIN_AVERAGE_BYTES;
}
