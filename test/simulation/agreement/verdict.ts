/** What was found so far: differences that are explained, with how often, and others. */
export class Verdict {
  readonly #say: (line: string) => void;
  readonly #explained = new Map<string, number>();
  differences = 0;

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  explain(why: string): void {
    this.#explained.set(why, (this.#explained.get(why) ?? 0) + 1);
  }

  /** @param story what was done before, the oldest first */
  differ(seed: number, what: string, story: readonly string[] = []): void {
    this.differences++;
    this.#say(`seed ${seed}: ${what}`);
    for (const line of story) this.#say(`    ${line}`);
  }

  sayExplained(): void {
    for (const [why, count] of this.#explained)
      this.#say(`explained, ${count.toLocaleString('en')} times: ${why}`);
  }
}
