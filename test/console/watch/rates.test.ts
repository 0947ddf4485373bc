import { expect, it } from 'vitest';
import { CounterFollower, grown, quantileOf } from '../../../src/console/watch/rates.ts';
import type { PodReading } from '../../../src/console/watch/read-pod.ts';
import { Samples } from '../../../src/console/watch/samples.ts';
import { samplesIn } from '../../../src/monitoring/metric-samples.ts';

const pod = (address: string, text: string, fault: string | null = null): PodReading => ({
  address,
  process: 'ingress',
  isReady: true,
  reasons: {},
  fault,
  samples: new Samples(samplesIn(text)),
});

const NAME = 'hookline_deliveries_total';
const counted = (kafka: number, refused = 0) =>
  `${NAME}{status="200",stored="kafka"} ${kafka}\n${NAME}{status="401",stored="none"} ${refused}`;

it('adds up the growth of all processes, by labels', () => {
  const follower = new CounterFollower();
  expect(grown(follower.take([pod('a', counted(100)), pod('b', counted(7))], [NAME]), NAME)).toBe(0);
  const growth = follower.take([pod('a', counted(110, 2)), pod('b', counted(8))], [NAME]);
  expect([
    grown(growth, NAME),
    grown(growth, NAME, / stored=kafka/),
    grown(growth, NAME, / status=4/),
  ]).toEqual([13, 11, 2]);
});

it('counts a process that restarts from 0, a new one from then on, and one that was out of reach whole', () => {
  const follower = new CounterFollower();
  follower.take([pod('a', counted(100)), pod('b', counted(50))], [NAME]);
  expect(grown(follower.take([pod('a', counted(3)), pod('b', '', 'no answer')], [NAME]), NAME)).toBe(3);
  expect(
    grown(follower.take([pod('a', counted(3)), pod('b', counted(54)), pod('c', counted(900))], [NAME]), NAME),
  ).toBe(4);
});

it('finds quantiles as Prometheus does', () => {
  const follower = new CounterFollower();
  const name = 'hookline_delivery_seconds_bucket';
  const buckets = (a: number, b: number, all: number) =>
    [
      ['0.1', a],
      ['0.5', b],
      ['+Inf', all],
    ]
      .map(([le, n]) => `${name}{le="${le}",stored="kafka"} ${n}`)
      .join('\n');
  follower.take([pod('a', buckets(0, 0, 0))], [name]);
  const growth = follower.take([pod('a', buckets(50, 100, 100))], [name]);
  expect(quantileOf(growth, 'hookline_delivery_seconds', 0.5)).toBeCloseTo(0.1);
  expect(quantileOf(growth, 'hookline_delivery_seconds', 0.75)).toBeCloseTo(0.3);
  // Beyond the last bound nothing is known but that bound.
  const slow = follower.take([pod('a', buckets(50, 100, 300))], [name]);
  expect(quantileOf(slow, 'hookline_delivery_seconds', 0.99)).toBe(0.5);
  expect(quantileOf(new Map(), 'hookline_delivery_seconds', 0.5)).toBeNull();
});
