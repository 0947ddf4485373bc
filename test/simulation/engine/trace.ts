import { createHash } from 'node:crypto';

/** Bytes that wait to be hashed: many small ones at once take a fraction of the time. */
const CHUNK = 65_536;

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
    const line = `${this.#clock.now} ${who} ${what}\n`;
    const most = 3 * line.length + (bytes?.length ?? 0);
    if (this.#length + most > CHUNK) this.#flush();
    if (most > CHUNK) {
      this.#hash.update(line).update(bytes ?? '');
    } else {
      this.#length += this.#chunk.write(line, this.#length);
      if (bytes) this.#chunk.set(bytes, this.#length);
      this.#length += bytes?.length ?? 0;
    }
    this.lines?.push(bytes === undefined ? line.trimEnd() : `${line.trimEnd()} (${bytes.length} bytes)`);
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
