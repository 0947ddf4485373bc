import type { MetricValueWithName, Registry } from 'prom-client';

type Labels<L extends string> = { readonly [name in L]: string };

type Series = {
  readonly labels: Readonly<Record<string, string>>;
  /** Of each bucket by itself; the last one is for what is above all bounds. */
  readonly counts: number[];
  sum: number;
};

/**
 * A histogram of one label or none, for a registry of prom-client. For each value that one's own looks for names that it knows, and
 * twice for each webhook that was 2 % of its CPU. This one counts in an array, and is laid out when it is asked for.
 */
export class Histogram<L extends string = never> {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  readonly labelNames: readonly string[];
  readonly #label: L | undefined;
  /** Upper ones, in their order. */
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Series>();

  constructor(definition: {
    readonly name: string;
    readonly help: string;
    readonly labels?: readonly [L];
    readonly buckets: readonly number[];
    readonly register: Registry;
  }) {
    const { name, help, labels = [], buckets, register } = definition;
    this.name = name;
    this.help = help;
    this.labelNames = labels;
    this.#label = labels[0];
    this.#bounds = buckets;
    if (this.#label === undefined) this.zero({} as Labels<L>);
    register.registerMetric(this as never);
  }

  observe(labels: Labels<L>, value: number): void {
    const series = this.#series.get(this.#keyOf(labels)) ?? this.zero(labels);
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++;
    series.counts[bucket] = (series.counts[bucket] as number) + 1;
    series.sum += value;
  }

  /** Shows a series that has no values yet. */
  zero(labels: Labels<L>): Series {
    const series: Series = { labels, counts: new Array(this.#bounds.length + 1).fill(0), sum: 0 };
    this.#series.set(this.#keyOf(labels), series);
    return series;
  }

  /** As prom-client's registry asks for it. */
  async get() {
    const values = [...this.#series.values()].flatMap((series) => this.#valuesOf(series));
    return { name: this.name, help: this.help, type: this.type, aggregator: 'sum', values };
  }

  #keyOf(labels: Labels<L>): string {
    return this.#label === undefined ? '' : labels[this.#label];
  }

  #valuesOf({ labels, counts, sum }: Series): MetricValueWithName<string>[] {
    let count = 0;
    const buckets = [...this.#bounds, '+Inf'].map((le, n) => {
      count += counts[n] as number;
      return { metricName: `${this.name}_bucket`, labels: { le, ...labels }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: count },
    ];
  }
}
