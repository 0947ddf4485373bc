import { createHash } from 'node:crypto';

/** Text that waits to be hashed, at the most. */
const CHUNK = 16_384;

/**
 * Everything that happens in a simulated simulation, as one SHA-256: of each event its time, who did it, what it was, and the
 * bytes that it carried. Two runs with the same hash did the same.
 */
export class Trace {
  readonly #hash = createHash('sha256');
  #text = '';
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
    this.#text += line;
    if (bytes !== undefined) {
      this.#flush();
      this.#hash.update(bytes);
    } else if (this.#text.length > CHUNK) this.#flush();
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
    if (this.#text !== '') this.#hash.update(this.#text);
    this.#text = '';
  }
}
