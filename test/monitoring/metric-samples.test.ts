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

it('takes no time that grows with the square of a label that does not end', { timeout: 20_000 }, () => {
  // Looked for from each letter on, it takes more than half a minute.
  expect(samplesIn(`a{${'b'.repeat(256 * 1024)}} 1`)).toEqual([{ name: 'a', labels: {}, value: 1 }]);
});

it('reads labels with spaces between them, and a comma behind the last one', () => {
  const [sample] = samplesIn('a{ b="c", d="e" ,f="g",} 2');
  expect(sample?.labels).toEqual({ b: 'c', d: 'e', f: 'g' });
});
