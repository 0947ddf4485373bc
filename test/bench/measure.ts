import { setTimeout as sleep } from 'node:timers/promises';
import type { LoadSeen } from './load/run-wrk.ts';
import { cpuMicros, forgetPeak, peakBytes } from './process-cost.ts';
import type { System } from './systems.ts';

/** One system under one load. */
export type Measurement = {
  readonly requestsPerSecond: number;
  /** Per record stored; of what stores nothing, per request answered. */
  readonly cpuMicros: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly peakRssMb: number;
  readonly answered: number;
  /** null for what stores nothing. */
  readonly stored: number | null;
};

const SETTLE_MS = 250;

/**
 * CPU per record is what the process used from before the first request until the last record is in its topic.
 * @throws Error where an answer was no 200, or fewer records are stored than were answered 200
 */
export async function measure(system: System, load: () => Promise<LoadSeen>): Promise<Measurement> {
  const { pid } = system.process;
  const before = { cpu: cpuMicros(pid), stored: await settled(system) };
  forgetPeak(pid);
  const seen = await load();
  const stored = minus(await settled(system), before.stored);
  const cpu = cpuMicros(pid) - before.cpu;
  if (seen.refused + seen.socketErrors + seen.timeouts > 0) {
    throw new Error(`${system.label} did not answer all with 200: ${JSON.stringify(seen)}`);
  }
  if (stored !== null && stored < seen.requests) {
    throw new Error(`${system.label} answered ${seen.requests} with 200 and stored ${stored}`);
  }
  return {
    requestsPerSecond: seen.requests / (seen.micros / 1e6),
    cpuMicros: cpu / (stored ?? seen.requests),
    p50Ms: seen.p50 / 1_000,
    p99Ms: seen.p99 / 1_000,
    peakRssMb: peakBytes(pid) / 1024 ** 2,
    answered: seen.requests,
    stored,
  };
}

/** The number of records once it grows no more: what was under way when the load ended is stored too. */
async function settled(system: System): Promise<number | null> {
  let last = await system.stored();
  for (;;) {
    await sleep(SETTLE_MS);
    const now = await system.stored();
    if (now === last) return now;
    last = now;
  }
}

const minus = (after: number | null, before: number | null) =>
  after === null || before === null ? null : after - before;
