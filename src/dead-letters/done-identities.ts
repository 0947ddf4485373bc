import { TextNumbers } from './text-numbers.ts';

/** 25 MB of memory. When it is full it begins anew: retention has mostly deleted what was added first. */
const MAX_IDENTITIES = 1_000_000;

/** Which dead-lettered deliveries are done and forgotten, 25 bytes each: a copy that comes later is not open. */
export class DoneIdentities {
  readonly #max: number;
  #identities = new TextNumbers();

  constructor(max = MAX_IDENTITIES) {
    this.#max = max;
  }

  add(identity: string): void {
    if (this.#identities.size >= this.#max) this.#identities = new TextNumbers();
    this.#identities.numberOf(identity);
  }

  has(identity: string): boolean {
    return this.#identities.find(identity) !== undefined;
  }
}
