/** One sample of a scrape. */
export type Sample = {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
};

const LINE = /^(hookline_[a-z0-9_]+|process_resident_memory_bytes)(?:\{(.*)\})? (\S+)/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** Hookline's samples in Prometheus' text format, as prom-client writes it. */
export function parseMetrics(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = LINE.exec(line) ?? [];
    return name === undefined ? [] : [{ name, labels: readLabels(labels), value: Number(value) }];
  });
}

const readLabels = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(LABEL)].map(([, name = '', value = '']) => [
      name,
      value.replaceAll(/\\(.)/g, (_, sign: string) => (sign === 'n' ? '\n' : sign)),
    ]),
  );

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
