/** Texts that are looked up before another copy is kept. */
const MAX_TEXTS = 1_000;

/** Most texts of headers are those of other records too: one copy of each is kept. */
export class SharedTexts {
  readonly #texts = new Map<string, string>();

  /** The copy of this text that is kept. */
  of(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#texts.size >= MAX_TEXTS) this.#texts.clear();
    this.#texts.set(text, text);
    return text;
  }
}
