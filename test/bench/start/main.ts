/**
 * `make bench-start`: from exec until /readyz says 200, with the CPU time until then and the memory of the idle process.
 * Node's compile cache is warm, as in the image. Control also beside a Kafka that keeps its default
 * group.initial.rebalance.delay.ms, which the tests' own Kafka sets to 0. `--image TAG` measures the programs of an image of
 * a Docker engine on this machine.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { wholeNumber } from '../../../src/cli/shell/option-values.ts';
import { startSandbox } from '../../../src/sandbox/start-sandbox.ts';
import { freePorts } from '../../stack/plan-ports.ts';
import { useStack } from '../../stack/use-stack.ts';
import type { RunningProcess } from '../../support/running-process.ts';
import { Fixture } from '../../support/topics-fixture.ts';
import { cpuMicros, residentBytes } from '../process-cost.ts';
import { type Spread, spreadOf } from '../report.ts';
import { ImageProcess } from './image-process.ts';

const KAFKA_DEFAULT_DELAY_MS = 3_000;
const POLL_MS = 2;
const DEADLINE_MS = 60_000;
/** After it a process has done what it does after its start. */
const IDLE_MS = 3_000;

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '10' }, image: { type: 'string' } },
});
const rounds = wholeNumber('--rounds', values.rounds, { min: 1 });
const say = (line: string) => console.log(line);
const cache = mkdtempSync(join(tmpdir(), 'hookline-bench-'));
await using disposing = new AsyncDisposableStack();
disposing.defer(() => rmSync(cache, { recursive: true }));
const sandbox = await startSandbox({ port: 0 });
disposing.defer(() => sandbox.stop());

await measureStarts('src/ingress/main.ts', 0);
await measureStarts('src/control/main.ts', 0);
await measureStarts('src/control/main.ts', KAFKA_DEFAULT_DELAY_MS);

/** @param rebalanceDelayMs Kafka's group.initial.rebalance.delay.ms */
async function measureStarts(entry: string, rebalanceDelayMs: number): Promise<void> {
  const properties = { 'group.initial.rebalance.delay.ms': rebalanceDelayMs };
  await using stack = await useStack({ env: process.env, kafka: { properties } });
  await using fixture = await Fixture.make(stack);
  const urls = { provider: sandbox.url, publicUrl: 'http://127.0.0.1:8080' };
  const env = entry.includes('control') ? fixture.controlEnv(urls) : {};
  await startOnce(fixture, entry, env);
  const seen: Start[] = [];
  for (let round = 1; round <= rounds; round++) seen.push(await startOnce(fixture, entry, env));
  const of = (figure: keyof Start) => spreadOf(seen.map((start) => start[figure]));
  const text = ({ median, min, max }: Spread, digits: number) =>
    `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`;
  say(
    `${entry}, rebalance delay ${rebalanceDelayMs} ms: ready after ${text(of('readyMs'), 0)} ms, ` +
      `${text(of('cpuMs'), 0)} ms of CPU until then, RSS idle ${text(of('rssMb'), 0)} MiB`,
  );
}

type Start = { readonly readyMs: number; readonly cpuMs: number; readonly rssMb: number };

async function startOnce(fixture: Fixture, entry: string, env: Fixture['env']): Promise<Start> {
  const [port] = await freePorts(1);
  const began = performance.now();
  const running = start(fixture, entry, { ...env, ADMIN_PORT: String(port) });
  while (!(await isReady(`http://127.0.0.1:${port}/readyz`))) {
    if (performance.now() - began > DEADLINE_MS || running.exitCode !== null)
      throw new Error(`${entry} did not become ready: ${running.written()}`);
    await sleep(POLL_MS);
  }
  const readyMs = running instanceof ImageProcess ? running.ageMs : performance.now() - began;
  const cpuMs = cpuMicros(running.pid) / 1_000;
  await sleep(IDLE_MS);
  const rssMb = residentBytes(running.pid) / 1024 ** 2;
  await running.stop();
  return { readyMs, cpuMs, rssMb };
}

function start(fixture: Fixture, entry: string, env: Fixture['env']): RunningProcess | ImageProcess {
  const { image } = values;
  if (image === undefined) return fixture.start(entry, { ...env, NODE_COMPILE_CACHE: cache });
  return new ImageProcess(image, entry, { ...fixture.env, ...env }, fixture.dir);
}

function isReady(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(DEADLINE_MS) }).then(
    ({ ok }) => ok,
    () => false,
  );
}
