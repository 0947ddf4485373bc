import { describeError, type Shell } from '../shell/shell.ts';

/** How many are named: while the registry or the store does not answer, no record or object can be checked. */
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
