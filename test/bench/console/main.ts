/**
 * `make bench-console`: a console beside a million events and ten thousand dead-letter records. How soon they are indexed,
 * how long a search and each page take while it indexes and afterwards, its memory and the index's size on disk; then
 * records of 95 MB.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { wholeNumber } from '../../../src/cli/shell/option-values.ts';
import { writeReport } from '../../faults/report.ts';
import { useStack } from '../../stack/use-stack.ts';
import { ConsoleClient } from '../../support/console-client.ts';
import { ReceiverFixture } from '../../support/receiver-fixture.ts';
import { ROOT } from '../../support/source-tree.ts';
import { peakBytes, residentBytes } from '../process-cost.ts';
import { fillDeadLetters, fillEvents, type Sample, writeLarge } from './fill.ts';

const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '1000000' },
    'dead-letters': { type: 'string', default: '10000' },
    large: { type: 'string', default: '4' },
  },
});
const records = wholeNumber('--records', values.records, { min: 1_000 });
const deadLetters = wholeNumber('--dead-letters', values['dead-letters'], { min: 100 });
const large = wholeNumber('--large', values.large);

const LARGE_BYTES = 94_000_000;
const INDEXED_DEADLINE_MS = 600_000;
const ROUNDS = 20;

const say = (line: string) => console.log(line);
// The broker collects garbage for seconds beside records of 95 MB.
await using stack = await useStack({ env: process.env, onProgress: say, kafka: { heapMb: 2_048 } });
await using receiver = await ReceiverFixture.make(stack);
const { fixture } = receiver;
const sample = await sampleOf();
say(`writing ${records} events and ${deadLetters} dead-letter records`);
const eventIds = await fillEvents(fixture, sample, records);
const letterIds = await fillDeadLetters(fixture, deadLetters);

const indexDir = join(fixture.dir, 'index');
const startedAt = performance.now();
const running = fixture.start('src/console/main.ts', {
  ...ConsoleClient.env,
  CONSOLE_INDEX_DIR: indexDir,
  LOG_LEVEL: 'info',
  NODE_OPTIONS: '--disable-warning=TimeoutNegativeWarning',
});
const { port } = await running.logged('console listening');
const client = new ConsoleClient(`http://127.0.0.1:${port}`, 'viewers');

type Coverage = {
  coverage: { topic: string; partitions: { oldest: number; end: number; first: number; next: number }[] }[];
};
const pages = [
  ['overview', '/'],
  ['find', '/find'],
  ['find by event id', () => `/find?q=${pick(eventIds)}`],
  ['find by dead-lettered event id', () => `/find?q=${pick(letterIds)}`],
  ['find by entity', () => `/find?q=entity-${Math.floor(Math.random() * 200_000)}`],
  ['find by ref', () => `/find?q=ref-${Math.floor(Math.random() * 20)}`],
  ['events', '/events/payment-status'],
  ['dead letters', '/dead-letters'],
  ['dead letters of one cause', '/dead-letters?stage=PARSE&ref=ref-1'],
] as const;

const during = new Map<string, number[]>();
let left = await leftToIndex();
while (left > 0) {
  if (performance.now() - startedAt > INDEXED_DEADLINE_MS)
    throw new Error(`${left} offsets are still not indexed`);
  const [name, path] = pick(pages);
  await measure(during, name, path);
  // Of 300 requests a minute that a user may make.
  await sleep(500);
  left = await leftToIndex();
}
const indexedSeconds = (performance.now() - startedAt) / 1_000;
say(`indexed after ${indexedSeconds.toFixed(1)} s`);
const after = new Map<string, number[]>();
for (let round = 0; round < ROUNDS; round++)
  for (const [name, path] of pages) {
    await measure(after, name, path);
    await sleep(220);
  }
const memory = { residentMb: mb(residentBytes(running.pid)), peakMb: mb(peakBytes(running.pid)) };
const fileMb = mb(statSync(join(indexDir, 'index.sqlite')).size);
for (const [name] of pages)
  say(`${name.padEnd(32)} ${spread(after.get(name))}; while it indexes ${spread(during.get(name))}`);
say(
  `memory ${memory.residentMb.toFixed(0)} MiB, at most ${memory.peakMb.toFixed(0)} MiB; index ${fileMb.toFixed(0)} MiB on disk`,
);

const largeIds: string[] = [];
for (let n = 0; n < large; n++) largeIds.push(await writeLarge(fixture, sample, LARGE_BYTES));
while ((await leftToIndex()) > 0) await sleep(300);
const largeSearches: number[] = [];
for (const id of largeIds) largeSearches.push(await timeOf(`/find?q=${id}`));
largeSearches.push(await timeOf('/events/payment-status'));
const largePeakMb = mb(peakBytes(running.pid));
say(
  `${large} records of ${LARGE_BYTES} bytes: pages ${spread(largeSearches)}, memory at most ${largePeakMb.toFixed(0)} MiB`,
);
const file = join(ROOT, '.local/bench/console.json');
writeReport(file, {
  at: new Date().toISOString(),
  records,
  deadLetters,
  indexedSeconds,
  memory,
  fileMb,
  during: Object.fromEntries(during),
  after: Object.fromEntries(after),
  large: { records: large, bytes: LARGE_BYTES, ms: largeSearches, peakMb: largePeakMb },
});
say(`all figures: ${file}`);

/** An event that ingress has written. */
async function sampleOf(): Promise<Sample> {
  await receiver.trigger1({ event: 'payment-status' });
  const [record] = await fixture.read('payment-status', 1, { values: 'raw' });
  if (!record?.value) throw new Error('no event was written');
  return { value: record.value, headers: record.headers };
}

async function leftToIndex(): Promise<number> {
  const { coverage } = await client.json<Coverage>('/find');
  const partitions = coverage.flatMap((one) => one.partitions);
  // What was not looked at yet may be a lot.
  if (coverage.length === 0 || coverage.some((one) => one.partitions.length === 0))
    return Number.POSITIVE_INFINITY;
  return partitions.reduce((sum, { next, end }) => sum + Math.max(0, end - next), 0);
}

async function measure(
  into: Map<string, number[]>,
  name: string,
  path: string | (() => string),
): Promise<void> {
  into.set(name, [...(into.get(name) ?? []), await timeOf(path)]);
}

/** Milliseconds until the whole page is here. */
async function timeOf(path: string | (() => string)): Promise<number> {
  const begin = performance.now();
  await client.html(typeof path === 'string' ? path : path());
  return performance.now() - begin;
}

function pick<T>(among: readonly T[]): T {
  return among[Math.floor(Math.random() * among.length)] as T;
}

function spread(ms: readonly number[] = []): string {
  if (ms.length === 0) return 'not measured';
  const sorted = ms.toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  return `median ${median.toFixed(0)} ms, at most ${(sorted.at(-1) ?? 0).toFixed(0)} ms (${ms.length})`;
}

function mb(bytes: number): number {
  return bytes / 1024 ** 2;
}
