import { type Spread, spreadOf } from '../report.ts';
import type { System } from '../systems.ts';
import type { LargeBody } from './bodies.ts';
import { probe, runIdle, SMALL_PER_SECOND } from './cases.ts';
import { sendAll } from './send-all.ts';
import { startSmallStream } from './small-stream.ts';

/** What small webhooks see at one receiver while large bodies go to an ingress, which may be that receiver. */
export type Beside = {
  readonly receiver: string;
  /** p99 before each round, without large bodies. */
  readonly aloneMs: Spread;
  readonly p99Ms: Spread;
  readonly stallMs: Spread;
  /** Of the large bodies that were sent meanwhile; the others were answered 503. */
  readonly stored: { readonly bodies: number; readonly of: number };
};

export type BesideParts = {
  /** Takes the large bodies. */
  readonly ingress: System;
  /** Take the small webhooks, one after the other in each round, by what each is. */
  readonly receivers: ReadonlyMap<string, System>;
  readonly bodies: readonly LargeBody[];
  readonly rounds: number;
};

const ALONE_SECONDS = 5;

/**
 * The control of what small webhooks see beside large bodies: the same stream to receivers that have nothing to do with
 * the large bodies but the machine and the brokers. What those see too is no doing of the ingress.
 */
export async function runBeside({ ingress, receivers, bodies, rounds }: BesideParts): Promise<Beside[]> {
  type Seen = {
    receiver: string;
    system: System;
    alone: number[];
    p99: number[];
    stall: number[];
    stored: number;
  };
  const seen: Seen[] = [];
  for (const [receiver, system] of receivers) {
    // The first seconds compile.
    await runIdle(system, 3);
    seen.push({ receiver, system, alone: [], p99: [], stall: [], stored: 0 });
  }
  for (let n = 0; n < rounds; n++) {
    for (const one of seen) {
      const { system, alone, p99, stall } = one;
      alone.push((await runIdle(system, ALONE_SECONDS)).p99);
      await probe(system.process);
      const endStream = startSmallStream(system.url, SMALL_PER_SECOND);
      one.stored += await storeAll(ingress, bodies);
      p99.push((await endStream()).p99);
      stall.push((await probe(system.process)).stall.ms);
    }
  }
  return seen.map(({ receiver, alone, p99, stall, stored }) => ({
    ...{ receiver, aloneMs: spreadOf(alone), stored: { bodies: stored, of: rounds * bodies.length } },
    ...{ p99Ms: spreadOf(p99), stallMs: spreadOf(stall) },
  }));
}

/** How many were answered 200. */
async function storeAll({ url }: System, bodies: readonly LargeBody[]): Promise<number> {
  const sent = await sendAll(url, bodies, ({ signature }) => signature);
  const wrong = sent.find(({ status }) => status !== 200 && status !== 503);
  if (wrong) throw new Error(`a large body was answered ${wrong.status}`);
  return sent.filter(({ status }) => status === 200).length;
}

export function describeBeside({ receiver, aloneMs, p99Ms, stallMs, stored }: Beside): string {
  const text = ({ median, min, max }: Spread) =>
    `${median.toFixed(0)} (${min.toFixed(0)} to ${max.toFixed(0)})`;
  const times = (p99Ms.median / aloneMs.median).toFixed(1);
  return `  to ${receiver}: p99 ${text(p99Ms)} ms, ${times} times the ${aloneMs.median.toFixed(1)} alone; longest stall ${text(stallMs)} ms; ${stored.bodies} of ${stored.of} bodies stored`;
}
