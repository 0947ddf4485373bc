import { parseSealingKeys, type SealingKeys } from '../../../src/crypto/sealing.ts';
import type { LiveSealingKeys } from '../../../src/runtime/sealing-key-file.ts';
import type { Actor, Simulation } from '../engine/simulation.ts';

const keyOf = (n: number) => String.fromCharCode(0x61 + (n % 26)).repeat(32);

/** Before a process has read a file that has changed. */
const READ_AFTER_MS = 5;

/** SEALING_KEY_FILE: the first key seals, all open. */
export class SealingKeyFile {
  readonly #isUsed: boolean;
  readonly #simulation: Simulation;
  /** Processes that read it, and what each does when it has changed. */
  readonly #readers = new Map<Actor, (keys: SealingKeys) => void>();
  /** By number, the one that seals first. */
  #keys = [0];

  constructor(simulation: Simulation, isUsed: boolean) {
    this.#simulation = simulation;
    this.#isUsed = isUsed;
  }

  /** As a process keeps to it for as long as it runs; see src/runtime/sealing-key-file.ts. */
  open(actor: Actor): LiveSealingKeys | undefined {
    let { current: held } = this;
    if (!held) return undefined;
    const listeners: ((keys: SealingKeys) => void)[] = [];
    this.#readers.set(actor, (keys) => {
      held = keys;
      for (const listener of listeners) listener(keys);
    });
    const keys = () => held as SealingKeys;
    return {
      get current() {
        return keys().current;
      },
      get all() {
        return keys().all;
      },
      onRenewed: (listener) => void listeners.push(listener),
    };
  }

  get current(): SealingKeys | undefined {
    if (!this.#isUsed) return undefined;
    return parseSealingKeys(Buffer.from(this.#keys.map(keyOf).join('\n'))) ?? undefined;
  }

  /** A new key comes before the others. */
  add(): void {
    this.#keys = [Math.max(...this.#keys) + 1, ...this.#keys];
    this.#changed();
  }

  /** A new key stands alone: rows of the others cannot be read until {@link restore}. */
  replace(): void {
    this.#keys = [Math.max(...this.#keys) + 1];
    this.#changed();
  }

  restore(): void {
    const [newest = 0] = this.#keys;
    this.#keys = Array.from({ length: newest + 1 }, (_, n) => newest - n);
    this.#changed();
  }

  #changed(): void {
    const keys = this.current;
    if (!keys) return;
    for (const [actor, take] of this.#readers)
      if (actor.isAlive)
        this.#simulation.after(READ_AFTER_MS, actor, () => take(keys), { what: 'renews keys' });
      else this.#readers.delete(actor);
  }
}
