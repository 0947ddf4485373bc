/**
 * `make bench-pods`: one ingress alone, then several beside one another, each under the same load. On a machine with few
 * cores they, the brokers and the load share them, so that requests per second say little; CPU per event says whether one
 * is in another's way.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { useStack } from '../../stack/use-stack.ts';
import { writeRequests } from '../load/bodies.ts';
import { findWrk, runWrk } from '../load/run-wrk.ts';
import { measure } from '../measure.ts';
import { spreadOf } from '../report.ts';
import { System } from '../systems.ts';

const { values } = parseArgs({
  options: {
    pods: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '10' },
    connections: { type: 'string', default: '128' },
  },
});
const [pods, rounds, seconds, connections] = [
  values.pods,
  values.rounds,
  values.seconds,
  values.connections,
].map(Number) as [number, number, number, number];

const say = (line: string) => console.log(line);
const wrk = findWrk(process.env);
const dir = mkdtempSync(join(tmpdir(), 'hookline-bench-'));
await using disposing = new AsyncDisposableStack();
disposing.defer(() => rmSync(dir, { recursive: true }));
const requestsFile = join(dir, 'plain.requests');
await writeRequests(requestsFile, 'plain');
const stack = disposing.use(await useStack({ env: process.env, onProgress: say }));
const systems: System[] = [];
for (let n = 0; n < pods; n++) systems.push(disposing.use(await System.start({ name: 'hookline', stack })));

const load = (system: System, connections: number, seconds: number) => () =>
  runWrk({ wrk, url: system.url, requestsFile, connections, seconds });
for (const system of systems) await load(system, 64, 3)();

const runs = [1, pods].map((count) => ({ count, cpu: [] as number[], perSecond: [] as number[] }));
for (let round = 1; round <= rounds; round++) {
  for (const { count, cpu, perSecond } of runs) {
    const seen = await Promise.all(
      systems.slice(0, count).map((system) => measure(system, load(system, connections, seconds))),
    );
    cpu.push(...seen.map(({ cpuMicros }) => cpuMicros));
    perSecond.push(seen.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0));
  }
}
for (const { count, cpu, perSecond } of runs) {
  const [micros, all] = [spreadOf(cpu), spreadOf(perSecond)];
  say(
    `${count} ingress: ${micros.median.toFixed(1)} µs of CPU per event (${micros.min.toFixed(1)}–${micros.max.toFixed(1)}), ` +
      `${Math.round(all.median)} events/s together`,
  );
}
