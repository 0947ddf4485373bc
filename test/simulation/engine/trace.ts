import { createHash } from 'node:crypto';

/** Bytes that wait to be hashed: many small ones at once take a fraction of the time. */
const CHUNK = 65_536;
const TIME_BYTES = 8;
const SPACE = 0x20;
const NEWLINE = 0x0a;

/**
 * Everything that happens in a simulated simulation, as one SHA-256: of each event its time, who did it, what it was, and the
 * bytes that it carried. Two runs with the same hash did the same.
 */
export class Trace {
  readonly #hash = createHash('sha256');
  readonly #chunk = Buffer.allocUnsafe(CHUNK);
  #length = 0;
  /** The same as lines that a person can read, where they are wanted. */
  readonly lines: string[] | undefined;
  readonly #clock: { readonly now: number };

  /** @param keepsLines whether the lines are kept, for a story or to compare two traces */
  constructor(clock: { readonly now: number }, keepsLines: boolean) {
    this.#clock = clock;
    this.lines = keepsLines ? [] : undefined;
  }

  note(who: string, what: string, bytes?: Uint8Array): void {
    const { now } = this.#clock;
    const most = TIME_BYTES + 3 * (who.length + what.length + 2) + (bytes?.length ?? 0);
    if (this.#length + most > CHUNK) this.#flush();
    if (most > CHUNK) this.#hash.update(`${now} ${who} ${what}\n`).update(bytes ?? '');
    else this.#write(now, who, what, bytes);
    if (this.lines === undefined) return;
    this.lines.push(`${now} ${who} ${what}${bytes === undefined ? '' : ` (${bytes.length} bytes)`}`);
  }

  /** The time as eight bytes: as digits it would cost more than all the rest. */
  #write(now: number, who: string, what: string, bytes: Uint8Array | undefined): void {
    const chunk = this.#chunk;
    let at = chunk.writeDoubleBE(now, this.#length);
    at += chunk.write(who, at);
    chunk[at++] = SPACE;
    at += chunk.write(what, at);
    chunk[at++] = NEWLINE;
    if (bytes) chunk.set(bytes, at);
    this.#length = at + (bytes?.length ?? 0);
  }

  /** Adds what a reader of the lines wants to know besides; it is not hashed. */
  explain(who: string, tell: () => string): void {
    this.lines?.push(`${this.#clock.now} ${who} ${tell()}`);
  }

  /** 64 hexadecimal digits. Nothing may be noted afterwards. */
  digest(): string {
    this.#flush();
    return this.#hash.digest('hex');
  }

  #flush(): void {
    if (this.#length > 0) this.#hash.update(this.#chunk.subarray(0, this.#length));
    this.#length = 0;
  }
}
