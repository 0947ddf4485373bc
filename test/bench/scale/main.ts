/**
 * `make bench-scale`: what an event costs as a deployment grows: several ingress processes beside one another, topics of
 * more partitions, and few events a second. On a machine with few cores processes, broker and load share them, so that
 * requests per second say little; CPU per event says whether one is in another's way.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { wholeNumber } from '../../../src/cli/shell/option-values.ts';
import { writeReport } from '../../faults/report.ts';
import { useStack } from '../../stack/use-stack.ts';
import { ROOT } from '../../support/source-tree.ts';
import { goTool, VEGETA } from '../../support/tools/go-tool.ts';
import { writeRequests } from '../load/bodies.ts';
import { findWrk } from '../load/run-wrk.ts';
import { type Bench, measurePartitions, measurePods, measureRates } from './cases.ts';

const { values } = parseArgs({
  options: {
    pods: { type: 'string', default: '1,2,4' },
    partitions: { type: 'string', default: '6,60,600' },
    rates: { type: 'string', default: '10,100,1000' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '64' },
  },
});
const number = (name: 'rounds' | 'seconds' | 'connections') =>
  wholeNumber(`--${name}`, values[name], { min: 1 });
/** An empty list leaves the case out. */
const numbers = (name: 'pods' | 'partitions' | 'rates') =>
  values[name]
    .split(',')
    .filter((text) => text !== '')
    .map((text) => wholeNumber(`--${name}`, text, { min: 1 }));

const say = (line: string) => console.log(line);
const dir = mkdtempSync(join(tmpdir(), 'hookline-bench-'));
await using disposing = new AsyncDisposableStack();
disposing.defer(() => rmSync(dir, { recursive: true }));
const requestsFile = join(dir, 'plain.requests');
await writeRequests(requestsFile, 'plain');
const stack = disposing.use(await useStack({ env: process.env, onProgress: say }));
const tools = { env: process.env, dir: join(ROOT, '.local/tools'), onProgress: say };
const bench: Bench = {
  stack,
  dir,
  requestsFile,
  say,
  wrk: findWrk(process.env),
  vegeta: await goTool(VEGETA, { ...tools, signal: new AbortController().signal }),
  rounds: number('rounds'),
  seconds: number('seconds'),
  connections: number('connections'),
};
const report = {
  at: new Date().toISOString(),
  machine: { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version },
  pods: await measurePods(bench, numbers('pods')),
  partitions: await measurePartitions(bench, numbers('partitions')),
  rates: await measureRates(bench, numbers('rates')),
};
const file = join(ROOT, '.local/bench/scale.json');
writeReport(file, report);
say(`all figures: ${file}`);
