import { SpoolFile } from '../../../../src/spool/spool-file.ts';
import { bodyOf, numberOf } from './bodies.ts';
import { sealingKeysOf } from './sealing.ts';

const ALL = { maxRows: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY };

/** What the marks promise so far, and whether a folder keeps it. */
export class Oracle {
  /** Sizes by number of what was ever handed over. */
  readonly #appended = new Map<number, number>();
  /** Acknowledged and not taken out: they must be there. */
  readonly #owed = new Set<number>();
  acked = 0;

  hear(mark: string): void {
    const [what, ...numbers] = mark.split(' ');
    const [n = Number.NaN, size = 0] = numbers.map(Number);
    if (what === 'append') this.#appended.set(n, size);
    else if (what === 'acked') {
      this.acked++;
      this.#owed.add(n);
    } else if (what === 'removing') for (const one of numbers) this.#owed.delete(Number(one));
    else throw new Error(`a mark that says ${mark}`);
  }

  /** The number of the next delivery in a later life of the folder. */
  get next(): number {
    return Math.max(-1, ...this.#appended.keys()) + 1;
  }

  /** Opens the folder as the next process does. @returns what is wrong with it, or null */
  judge(dir: string, sealingKey: string | null): string | null {
    let file: SpoolFile | undefined;
    try {
      file = new SpoolFile({
        dir,
        maxBytes: Number.MAX_SAFE_INTEGER,
        sealingKeys: sealingKeysOf(sealingKey),
      });
      if (file.counts.isDamaged) return 'it reports damage that is none';
      return this.#judgeRows(file.read(ALL).map(({ body }) => Buffer.from(body)));
    } catch (error) {
      return `it does not open: ${error}`;
    } finally {
      file?.close();
    }
  }

  #judgeRows(bodies: readonly Buffer[]): string | null {
    let last = -1;
    const owed = new Set(this.#owed);
    for (const body of bodies) {
      const n = numberOf(body);
      const size = this.#appended.get(n);
      if (size === undefined) return `${n} was never handed over`;
      if (!body.equals(bodyOf(n, size))) return `${n} is not what was handed over`;
      if (n <= last) return `${n} comes after ${last}`;
      last = n;
      owed.delete(n);
    }
    return owed.size === 0 ? null : `${owed.size} acknowledged are lost: ${[...owed].slice(0, 5).join(', ')}`;
  }
}
