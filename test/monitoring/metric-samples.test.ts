import { expect, it } from 'vitest';
import { samplesIn } from '../../src/monitoring/metric-samples.ts';

it('reads a scrape: names, labels, values; comments are ignored', () => {
  const text = [
    '# HELP a_total Of a',
    '# TYPE a_total counter',
    'a_total{ref="eu",use="signing"} 3',
    'b 1.5e3',
    'c{said="a \\"word\\" \\\\ and\\na line, {x}"} 1 1700000000000',
    '',
    'not a sample at all',
  ].join('\n');
  expect(samplesIn(text)).toEqual([
    { name: 'a_total', labels: { ref: 'eu', use: 'signing' }, value: 3 },
    { name: 'b', labels: {}, value: 1_500 },
    { name: 'c', labels: { said: 'a "word" \\ and\na line, {x}' }, value: 1 },
  ]);
});
