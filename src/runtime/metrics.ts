import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { Histogram } from './histogram.ts';

type Definition<L extends string> = {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly L[];
};

/**
 * The metrics of a process. Each is defined beside the code that counts it: dashboards, alerts and the runbook refer to
 * these names and to no others. A definition that is made twice gives the same metric.
 */
export type Metrics = {
  readonly registry: Registry;
  /** Called before each scrape, to set gauges that nobody keeps up to date. */
  readonly samplers: Set<() => void>;
  counter<L extends string = never>(definition: Definition<L>): Counter<L>;
  gauge<L extends string = never>(definition: Definition<L>): Gauge<L>;
  /** @param definition.buckets upper bounds, in the unit of the name */
  histogram<L extends string = never>(
    definition: Omit<Definition<L>, 'labels'> & {
      readonly labels?: readonly [L];
      readonly buckets: readonly number[];
    },
  ): Histogram<L>;
};

/** A registry, with the metrics of Node.js unless told otherwise. */
export function createMetrics({ ofNode = true } = {}): Metrics {
  const registry = new Registry();
  if (ofNode) collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const once = <M>(name: string, make: () => M): M =>
    (registry.getSingleMetric(name) as M | undefined) ?? make();
  return {
    registry,
    samplers: new Set(),
    counter: ({ labels: labelNames = [], ...rest }) =>
      once(rest.name, () => new Counter({ ...rest, labelNames, registers })),
    gauge: ({ labels: labelNames = [], ...rest }) =>
      once(rest.name, () => new Gauge({ ...rest, labelNames, registers })),
    histogram: (definition) =>
      once(definition.name, () => new Histogram({ ...definition, register: registry })),
  };
}
