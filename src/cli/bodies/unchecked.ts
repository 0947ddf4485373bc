import { describeError, type Shell } from '../shell/shell.ts';

/** With a registry or a store that does not answer, each record and each object is one. */
const NAMED = 10;

/** What could not be checked: all are counted, and the first ten named. */
export class Unchecked {
  #count = 0;
  readonly #note: Shell['note'];

  constructor(note: Shell['note']) {
    this.#note = note;
  }

  get count(): number {
    return this.#count;
  }

  add(name: string, error: unknown): void {
    if (this.#count++ < NAMED) this.#note(`${name}: ${describeError(error)}`);
  }
}
