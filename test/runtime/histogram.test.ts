import { Registry, Histogram as Theirs } from 'prom-client';
import { expect, it } from 'vitest';
import { Histogram } from '../../src/runtime/histogram.ts';

const definition = { name: 'seconds', help: 'How long it took', buckets: [0.005, 0.01, 0.5, 1] };
const VALUES = [0.005, 0.0050001, 0, 0.25, 1, 1.5, 100, 0.3];

it('without a label is exported as one of prom-client with the same values, before the first one too', async () => {
  const ours = new Registry();
  const theirs = new Registry();
  const own = new Histogram({ ...definition, register: ours });
  const other = new Theirs({ ...definition, registers: [theirs] });
  expect(await ours.metrics()).toBe(await theirs.metrics());
  for (const value of VALUES) {
    own.observe({}, value);
    other.observe(value);
  }
  expect(await ours.metrics()).toBe(await theirs.metrics());
  expect(await ours.getMetricsAsJSON()).toMatchObject(
    (await theirs.getMetricsAsJSON()).map(({ name, type }) => ({ name, type, aggregator: 'sum' })),
  );
});

it('with a label is exported as one of prom-client, each series by itself', async () => {
  const ours = new Registry();
  const theirs = new Registry();
  const own = new Histogram({ ...definition, labels: ['stored'], register: ours });
  const other = new Theirs({ ...definition, labelNames: ['stored'], registers: [theirs] });
  expect(await ours.metrics()).toBe(await theirs.metrics());
  for (const one of [own, other]) {
    one.zero({ stored: 'kafka' });
    for (const [n, value] of VALUES.entries()) one.observe({ stored: n % 3 > 0 ? 'spool' : 'none' }, value);
  }
  expect(await ours.metrics()).toBe(await theirs.metrics());
});
