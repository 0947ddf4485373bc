import { type Spread, spreadOf } from '../report.ts';
import type { System } from '../systems.ts';
import type { LargeBody } from './bodies.ts';
import { probe, runIdle, SMALL_PER_SECOND } from './cases.ts';
import { sendAll } from './send-all.ts';
import { type Percentiles, startSmallStream } from './small-stream.ts';

/** What small webhooks see at one receiver while large bodies go to an ingress, which may be that receiver. */
export type Beside = {
  readonly receiver: string;
  readonly alone: Percentiles;
  readonly p99Ms: Spread;
  readonly stallMs: Spread;
};

export type BesideParts = {
  /** Takes the large bodies. */
  readonly ingress: System;
  /** Take the small webhooks, one after the other in each round, by what each is. */
  readonly receivers: ReadonlyMap<string, System>;
  readonly bodies: readonly LargeBody[];
  readonly rounds: number;
};

/**
 * The control of what small webhooks see beside large bodies: the same stream to receivers that have nothing to do with
 * the large bodies but the machine and the brokers. What those see too is no doing of the ingress.
 */
export async function runBeside({ ingress, receivers, bodies, rounds }: BesideParts): Promise<Beside[]> {
  const sendBodies = () => sendAll(ingress.url, bodies, ({ signature }) => signature);
  const seen: { receiver: string; system: System; alone: Percentiles; p99: number[]; stall: number[] }[] = [];
  for (const [receiver, system] of receivers) {
    // The first seconds compile.
    await runIdle(system, 3);
    seen.push({ receiver, system, alone: await runIdle(system, 8), p99: [], stall: [] });
  }
  for (let n = 0; n < rounds; n++) {
    for (const { system, p99, stall } of seen) {
      await probe(system.process);
      const endStream = startSmallStream(system.url, SMALL_PER_SECOND);
      await sendBodies();
      p99.push((await endStream()).p99);
      stall.push((await probe(system.process)).stall.ms);
    }
  }
  return seen.map(({ receiver, alone, p99, stall }) => ({
    ...{ receiver, alone },
    ...{ p99Ms: spreadOf(p99), stallMs: spreadOf(stall) },
  }));
}

export function describeBeside({ receiver, alone, p99Ms, stallMs }: Beside): string {
  const text = ({ median, min, max }: Spread) =>
    `${median.toFixed(0)} (${min.toFixed(0)} to ${max.toFixed(0)})`;
  const times = (p99Ms.median / alone.p99).toFixed(1);
  return `  to ${receiver}: p99 ${text(p99Ms)} ms, ${times} times the ${alone.p99.toFixed(1)} alone; longest stall ${text(stallMs)} ms`;
}
