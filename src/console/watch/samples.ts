import type { Sample } from '../../monitoring/metric-samples.ts';

/** Samples of one or several processes, by name. */
export class Samples {
  readonly #byName: ReadonlyMap<string, readonly Sample[]>;
  constructor(samples: readonly Sample[]) {
    this.#byName = Map.groupBy(samples, ({ name }) => name);
  }

  of(name: string): readonly Sample[] {
    return this.#byName.get(name) ?? [];
  }

  all = (): readonly Sample[] => [...this.#byName.values()].flat();

  sum = (name: string): number => this.of(name).reduce((total, { value }) => total + value, 0);

  /** null where no process has it. */
  max(name: string): number | null {
    return this.of(name).reduce<number | null>(
      (most, { value }) => (most === null || value > most ? value : most),
      null,
    );
  }
}
