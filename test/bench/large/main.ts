/**
 * `make bench-large`: what bodies of 50 MB cost, and whom. An ingress of its own for each case, so that each has its own
 * peak of memory.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writeReport } from '../../faults/report.ts';
import { useStack } from '../../stack/use-stack.ts';
import { ROOT } from '../../support/source-tree.ts';
import { System, type SystemName } from '../systems.ts';
import { measureBareWaits } from './bare-record.ts';
import { describeBeside, inWords, runBeside } from './beside.ts';
import { makeLargeBodies, SHAPES, type Shape } from './bodies.ts';
import { type LargeSeen, PARTITIONS, probe, runIdle, runLarge, WARM_UP_SECONDS } from './cases.ts';
import { runMillion } from './million.ts';
import type { Percentiles } from './small-stream.ts';
import { UsedMemory } from './used-memory.ts';

const CASES = ['alone', 'valid', 'wrong', 'hundred', 'beside', 'million'] as const;
const USAGE = `make bench-large ARGS="[--case ${CASES.join(',')}] [--shape ${SHAPES.join('|')}] [--bodies 20] [--rounds 5] [--events 1000000] [--wait 10000] [--heap 3072] [--fresh-memory]"
--fresh-memory leaves free memory as it is, instead of filling it with pages of a file first, as it is on a machine that
has run for a day
--wait is ADMISSION_WAIT_MS; --heap is the broker's, in MiB: with 512 it collects garbage for seconds at each large record`;

const { values } = parseArgs({
  options: {
    case: { type: 'string', default: CASES.join(',') },
    shape: { type: 'string', default: 'list' },
    bodies: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '5' },
    events: { type: 'string', default: '1000000' },
    wait: { type: 'string', default: '10000' },
    heap: { type: 'string', default: '3072' },
    'fresh-memory': { type: 'boolean', default: false },
  },
});
const cases = values.case.split(',');
const shape = values.shape as Shape;
if (cases.some((one) => !CASES.includes(one as never)) || !SHAPES.includes(shape)) {
  process.stderr.write(`${USAGE}\n`);
  process.exit(2);
}

/**
 * A broker that never took so large a record compiles when the first ones come, for seconds and a core: the scheduler's
 * trace showed the ingress waiting up to 170 ms beside its compiler.
 */
const WARM_UP_ROUNDS = 2;
const ROUNDS = Number(values.rounds);
const GIVEN_BACK_AFTER_MS = 60_000;

const say = (line: string) => console.log(line);
const dir = mkdtempSync(join(tmpdir(), 'hookline-bench-'));
await using disposing = new AsyncDisposableStack();
disposing.defer(() => rmSync(dir, { recursive: true }));
// With less than 3 GiB a broker's collector begins a cycle at each record of 50 MB: 6 ms (up to 38) that everybody waits.
const kafka = { heapMb: Number(values.heap) };
const stack = disposing.use(await useStack({ env: process.env, onProgress: say, kafka }));
const memory = disposing.use(new UsedMemory(join(ROOT, '.local/bench/pages')));
const prepare = () => {
  if (!values['fresh-memory']) memory.fill();
};
const REQUEST_TIMEOUT_MS = String(Number(values.wait) + 60_000);
const env = {
  ADMISSION_WAIT_MS: values.wait,
  REQUEST_TIMEOUT_MS,
  NODE_OPTIONS: `--import ${join(import.meta.dirname, 'probe.ts')}`,
};
const start = (name: SystemName = 'hookline') => System.start({ name, stack, env, partitions: PARTITIONS });
const report: Record<string, unknown> = { shape, at: new Date().toISOString() };
const bodies = cases.some((one) => one !== 'million') ? makeLargeBodies(Number(values.bodies), shape) : [];

if (cases.includes('alone')) {
  await using system = await start();
  const signed = ({ signature }: { signature: string }) => signature;
  for (let n = 0; n < WARM_UP_ROUNDS; n++) await runLarge(system, bodies, signed, 0);
  prepare();
  const seen: LargeSeen[] = [];
  for (let n = 0; n < ROUNDS; n++) {
    seen.push(await runLarge(system, bodies, signed, 0));
    tell(
      `${bodies.length} sealed bodies of 50 MB (${shape}) at once, and nothing else`,
      seen.at(-1) as LargeSeen,
    );
  }
  await new Promise((resolve) => setTimeout(resolve, GIVEN_BACK_AFTER_MS));
  const { rss } = await probe(system.process);
  say(`RSS ${GIVEN_BACK_AFTER_MS / 1_000} s later: ${(rss / 1024 ** 2).toFixed(0)} MiB`);
  Object.assign(report, { alone: { seen, rssLater: rss } });
}
if (cases.includes('valid')) {
  await using system = await start();
  // The first seconds compile, the brokers' too; the second look counts.
  await runIdle(system, 5);
  for (let n = 0; n < WARM_UP_ROUNDS; n++) await runLarge(system, bodies, ({ signature }) => signature);
  prepare();
  await runIdle(system, WARM_UP_SECONDS);
  const idle = await runIdle(system, 10);
  say(`small webhooks alone: p50 ${idle.p50.toFixed(1)} ms, p99 ${idle.p99.toFixed(1)} ms`);
  const seen = await runLarge(system, bodies, ({ signature }) => signature);
  tell(`${bodies.length} sealed bodies of 50 MB (${shape}) at once`, seen);
  const { small } = seen;
  const times = (one: Percentiles, alone: Percentiles) => (one.p99 / alone.p99).toFixed(1);
  const other = times(small.otherType, idle.otherType);
  say(
    `  p99 of small webhooks: ${times(small, idle)} times that alone; of those of another type ${other} times`,
  );
  Object.assign(report, { idle, valid: seen });
}
if (cases.includes('wrong')) {
  await using system = await start();
  prepare();
  await runIdle(system, WARM_UP_SECONDS);
  const seen = await runLarge(system, bodies, () => '0'.repeat(64));
  tell(`${bodies.length} such bodies with a wrong signature`, seen);
  Object.assign(report, { wrong: seen });
}
if (cases.includes('hundred')) {
  await using system = await start();
  prepare();
  await runIdle(system, WARM_UP_SECONDS);
  const hundred = Array.from({ length: 100 }, (_, n) => bodies[n % bodies.length]).filter(
    (one) => one !== undefined,
  );
  const seen = await runLarge(system, hundred, ({ signature }) => signature);
  tell('100 such bodies at once', seen);
  Object.assign(report, { hundred: seen });
}
if (cases.includes('beside')) {
  await using ingress = await start();
  await using another = await start();
  await using floor = await start('floor');
  const receivers = new Map([
    ['the ingress that takes the bodies', ingress],
    ['another ingress', another],
    ['bare Fastify', floor],
  ]);
  for (let n = 0; n < WARM_UP_ROUNDS; n++) await runLarge(ingress, bodies, ({ signature }) => signature);
  say(`small webhooks beside ${bodies.length} such bodies, medians of ${ROUNDS} rounds`);
  const seen = await runBeside({ ingress, receivers, bodies, rounds: ROUNDS, prepare });
  for (const one of seen) say(describeBeside(one));
  say('records of 50 MB from a bare client, and nothing else: how long small ones wait, at the most, in ms');
  prepare();
  const bare = await measureBareWaits(ingress.fixture);
  say(`  in the same partition: ${inWords(bare.samePartition)}`);
  say(`  in another one: ${inWords(bare.otherPartition)}`);
  Object.assign(report, { beside: seen, bare });
}
if (cases.includes('million')) {
  await using system = await start();
  report.million = await runMillion(system, { dir, events: Number(values.events), say });
}
const file = join(ROOT, '.local/bench/large.json');
writeReport(file, report);
say(`all figures: ${file}`);

function tell(what: string, seen: LargeSeen): void {
  const { small } = seen;
  say(what);
  say(
    `  answers: ${JSON.stringify(seen.answers)} within ${seen.seconds.toFixed(1)} s, CPU ${seen.cpuSeconds.toFixed(1)} s`,
  );
  say(`  answered 200 and not in the topic to the byte: ${seen.missing}`);
  say(`  peak RSS: ${seen.peakRssMb.toFixed(0)} MiB`);
  say(
    `  longest stall of the main thread: ${seen.stallMs.toFixed(1)} ms, ${seen.stallCpuMs.toFixed(1)} ms of it its own work`,
  );
  if (small.sent === 0) return;
  say(
    `  small webhooks beside: ${small.sent} sent, ${small.failed} failed, p50 ${small.p50.toFixed(1)} ms, p99 ${small.p99.toFixed(1)} ms; of another type p99 ${small.otherType.p99.toFixed(1)} ms`,
  );
}
