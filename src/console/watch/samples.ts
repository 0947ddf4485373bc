import type { Sample } from '../../monitoring/metric-samples.ts';

type Match = Readonly<Record<string, string | RegExp>>;

/** Samples of one or several processes, to be asked by name and labels. */
export class Samples {
  readonly #byName: ReadonlyMap<string, readonly Sample[]>;
  constructor(samples: readonly Sample[]) {
    this.#byName = Map.groupBy(samples, ({ name }) => name);
  }

  of(name: string, match: Match = {}): readonly Sample[] {
    const wanted = Object.entries(match);
    const fits = ({ labels }: Sample) =>
      wanted.every(([label, value]) => {
        const is = labels[label] ?? '';
        return typeof value === 'string' ? is === value : value.test(is);
      });
    return (this.#byName.get(name) ?? []).filter(fits);
  }

  all = (): readonly Sample[] => [...this.#byName.values()].flat();

  sum = (name: string, match?: Match): number =>
    this.of(name, match).reduce((total, { value }) => total + value, 0);

  /** null where no process has it. */
  max(name: string, match?: Match): number | null {
    return this.of(name, match).reduce<number | null>(
      (most, { value }) => (most === null || value > most ? value : most),
      null,
    );
  }
}
