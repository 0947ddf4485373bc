import { type Spread, spreadOf } from '../report.ts';
import type { System } from '../systems.ts';
import type { LargeBody } from './bodies.ts';
import { probe, runIdle, SMALL_PER_SECOND, WARM_UP_SECONDS } from './cases.ts';
import { sendAll } from './send-all.ts';
import { type StreamSeen, startSmallStream } from './small-stream.ts';

/** What small webhooks see at one receiver, in milliseconds over all rounds. */
export type Feel = {
  readonly p50: Spread;
  readonly p99: Spread;
  /** Of those whose type is another than the large bodies': nothing large is written to their partitions. */
  readonly otherP99: Spread;
};

/** The same without and with large bodies on their way to an ingress, which may be that receiver. */
export type Beside = {
  readonly receiver: string;
  readonly alone: Feel;
  readonly beside: Feel;
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
  /** Before each time that is measured. */
  readonly prepare: () => void;
};

const ALONE_SECONDS = 5;

/**
 * The control of what small webhooks see beside large bodies: the same stream to receivers that have nothing to do with
 * the large bodies but the machine and the brokers. What those see too is no doing of the ingress.
 */
export async function runBeside(parts: BesideParts): Promise<Beside[]> {
  const { ingress, receivers, bodies, rounds, prepare } = parts;
  type Seen = {
    receiver: string;
    system: System;
    alone: StreamSeen[];
    beside: StreamSeen[];
    stalls: number[];
    stored: number;
  };
  const seen: Seen[] = [];
  for (const [receiver, system] of receivers) {
    seen.push({ receiver, system, alone: [], beside: [], stalls: [], stored: 0 });
  }
  for (let n = 0; n < rounds; n++) {
    for (const one of seen) {
      const { system, alone, beside, stalls } = one;
      prepare();
      await runIdle(system, WARM_UP_SECONDS);
      alone.push(await runIdle(system, ALONE_SECONDS));
      await probe(system.process);
      const endStream = startSmallStream(system.url, SMALL_PER_SECOND);
      one.stored += await storeAll(ingress, bodies);
      beside.push(await endStream());
      stalls.push((await probe(system.process)).stall.ms);
    }
  }
  return seen.map(({ receiver, alone, beside, stalls, stored }) => ({
    receiver,
    alone: feelOf(alone),
    beside: feelOf(beside),
    stallMs: spreadOf(stalls),
    stored: { bodies: stored, of: rounds * bodies.length },
  }));
}

function feelOf(rounds: readonly StreamSeen[]): Feel {
  return {
    p50: spreadOf(rounds.map(({ p50 }) => p50)),
    p99: spreadOf(rounds.map(({ p99 }) => p99)),
    otherP99: spreadOf(rounds.map(({ otherType }) => otherType.p99)),
  };
}

/** How many were answered 200. */
async function storeAll({ url }: System, bodies: readonly LargeBody[]): Promise<number> {
  const sent = await sendAll(url, bodies, ({ signature }) => signature);
  const wrong = sent.find(({ status }) => status !== 200 && status !== 503);
  if (wrong) throw new Error(`a large body was answered ${wrong.status}`);
  return sent.filter(({ status }) => status === 200).length;
}

export function describeBeside({ receiver, alone, beside, stallMs, stored }: Beside): string {
  const changed = (figure: keyof Feel) =>
    `${alone[figure].median.toFixed(1)} alone, ${inWords(beside[figure])} beside, ${(beside[figure].median / alone[figure].median).toFixed(1)} times`;
  return [
    `  to ${receiver}, in ms; ${stored.bodies} of ${stored.of} bodies stored`,
    `    p50: ${changed('p50')}`,
    `    p99: ${changed('p99')}`,
    `    p99 of another type: ${changed('otherP99')}`,
    `    longest stall: ${inWords(stallMs)}`,
  ].join('\n');
}

/** A median, with the least and the most. */
export const inWords = ({ median, min, max }: Spread) =>
  `${median.toFixed(1)} (${min.toFixed(0)} to ${max.toFixed(0)})`;
