/** What is known of a request from its first bytes. */
export type RequestHead = {
  readonly apiKey: number;
  readonly correlationId: number;
  /** Names the client that sent it; empty where it names none. */
  readonly clientId: string;
};

export const PRODUCE = 0;

/** Size, api key, version, correlation id, length of the client id; the client id itself follows. */
const FIXED_HEAD = 14;
/** A longer client id is cut: only its beginning is looked at. */
const MOST_CLIENT_ID = 64;

/**
 * Watches a client's bytes go by and tells of each request's head. The bytes themselves are passed on elsewhere, as
 * they came: a body is never put together here. Format: https://kafka.apache.org/protocol, "Request Header v1".
 */
export class RequestWatch {
  readonly #onRequest: (head: RequestHead) => void;
  #head = Buffer.alloc(0);
  /** Bytes of the present request's body that are still to come. */
  #bodyLeft = 0;

  constructor(onRequest: (head: RequestHead) => void) {
    this.#onRequest = onRequest;
  }

  see(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#bodyLeft > 0) {
        const skipped = Math.min(this.#bodyLeft, chunk.length - at);
        this.#bodyLeft -= skipped;
        at += skipped;
        continue;
      }
      const before = this.#head.length;
      this.#head = Buffer.concat([this.#head, chunk.subarray(at, at + FIXED_HEAD + MOST_CLIENT_ID - before)]);
      const used = this.#readHead();
      // Not enough yet: all that was left of the chunk is kept.
      if (used === null) return;
      at += used - before;
      this.#head = Buffer.alloc(0);
    }
  }

  /** How many of the kept bytes are the head, or null where some are missing. */
  #readHead(): number | null {
    const head = this.#head;
    if (head.length < FIXED_HEAD) return null;
    const size = head.readInt32BE(0) + 4;
    const length = Math.max(0, Math.min(head.readInt16BE(12), MOST_CLIENT_ID, size - FIXED_HEAD));
    if (head.length < FIXED_HEAD + length) return null;
    this.#onRequest({
      apiKey: head.readInt16BE(4),
      correlationId: head.readInt32BE(8),
      clientId: head.toString('latin1', FIXED_HEAD, FIXED_HEAD + length),
    });
    this.#bodyLeft = size - FIXED_HEAD - length;
    return FIXED_HEAD + length;
  }
}

/** Cuts a broker's bytes into whole responses, each with its size in front, as it goes on the wire. */
export class ResponseCutter {
  #pieces: Buffer[] = [];
  #length = 0;

  /** The responses that are whole with this chunk, in order. */
  cut(chunk: Buffer): Buffer[] {
    this.#pieces.push(chunk);
    this.#length += chunk.length;
    const whole: Buffer[] = [];
    if (this.#length < 4) return whole;
    let bytes = this.#join();
    while (bytes.length >= 4 && bytes.length >= bytes.readInt32BE(0) + 4) {
      const size = bytes.readInt32BE(0) + 4;
      whole.push(bytes.subarray(0, size));
      bytes = bytes.subarray(size);
    }
    this.#pieces = [bytes];
    this.#length = bytes.length;
    return whole;
  }

  #join(): Buffer {
    return this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces);
  }
}

export const correlationIdOf = (response: Buffer): number => response.readInt32BE(4);
