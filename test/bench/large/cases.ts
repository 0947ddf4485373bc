import type { RunningProcess } from '../../support/running-process.ts';
import { until } from '../../support/until.ts';
import { cpuMicros, forgetPeak, peakBytes } from '../process-cost.ts';
import type { System } from '../systems.ts';
import type { LargeBody } from './bodies.ts';
import { findMissing } from './read-back.ts';
import { type Sent, sendAll } from './send-all.ts';
import { type StreamSeen, startSmallStream } from './small-stream.ts';

export const SMALL_PER_SECOND = 500;
/** The first seconds compile, and fetch again what has gone out of memory meanwhile. */
export const WARM_UP_SECONDS = 3;
/** As `topics apply` makes them by itself. */
export const PARTITIONS = 6;

export type Probe = { stall: { ms: number; cpuMs: number }; rss: number; heapUsed: number };

export type LargeSeen = {
  readonly answers: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly peakRssMb: number;
  readonly stallMs: number;
  /** Of the longest stall, what the main thread worked; the rest it waited for a core. */
  readonly stallCpuMs: number;
  readonly cpuSeconds: number;
  readonly small: StreamSeen;
  /** Of those answered 200, how many are not in the topic to the byte. */
  readonly missing: number;
};

/** What the probe in the ingress tells now. */
export async function probe(process: RunningProcess): Promise<Probe> {
  const told = () => process.lines.filter(({ msg }) => msg === 'probe');
  const before = told().length;
  process.kill('SIGWINCH');
  const line = await until('the probe tells', () => told()[before], 30_000);
  return line as unknown as Probe;
}

const NO_STREAM: StreamSeen = {
  sent: 0,
  failed: 0,
  p50: 0,
  p99: 0,
  max: 0,
  otherType: { p50: 0, p99: 0, max: 0 },
};

/** All bodies at once, beside a stream of small ones, or alone. */
export async function runLarge(
  system: System,
  bodies: readonly LargeBody[],
  signatureFor: (body: LargeBody) => string,
  smallPerSecond = SMALL_PER_SECOND,
): Promise<LargeSeen> {
  const { process, url, fixture } = system;
  await probe(process);
  forgetPeak(process.pid);
  const cpu = cpuMicros(process.pid);
  const endStream = smallPerSecond > 0 ? startSmallStream(url, smallPerSecond) : async () => NO_STREAM;
  const start = performance.now();
  const sent = await sendAll(url, bodies, signatureFor);
  const seconds = (performance.now() - start) / 1_000;
  const small = await endStream();
  const cpuSeconds = (cpuMicros(process.pid) - cpu) / 1e6;
  const peakRssMb = peakBytes(process.pid) / 1024 ** 2;
  const { stall } = await probe(process);
  const stored = new Set(sent.filter(({ status }) => status === 200).map(({ entityId }) => entityId));
  const missing = await findMissing(
    fixture,
    bodies.filter(({ entityId }) => stored.has(entityId)),
  );
  return {
    answers: countAnswers(sent),
    seconds,
    peakRssMb,
    cpuSeconds,
    small,
    stallMs: stall.ms,
    stallCpuMs: stall.cpuMs,
    missing: missing.length,
  };
}

/** The stream alone. */
export async function runIdle(system: System, seconds: number): Promise<StreamSeen> {
  const end = startSmallStream(system.url, SMALL_PER_SECOND);
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  return end();
}

function countAnswers(sent: readonly Sent[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of sent) counts[status ?? 'none'] = (counts[status ?? 'none'] ?? 0) + 1;
  return counts;
}
