import type { Fixture } from '../support/topics-fixture.ts';
import type { HonestResult } from './honest/honest-stream.ts';
import type { Target } from './target.ts';

/** How much of an attack is made: the long form, or the short one that `make test-campaigns` makes. */
export type Scale = {
  /** Of each attack. */
  readonly seconds: number;
  /** Before each; the first requests compile, and are not measured. */
  readonly warmUpMs: number;
  /** Whether each attack has an ingress of its own, so that its memory is its own; else those share one that want no settings. */
  readonly ownIngress: boolean;
  readonly idleConnections: number;
  readonly slowConnections: number;
  readonly crowdConnections: number;
  readonly floodConnections: number;
  readonly resets: number;
  readonly deafConnections: number;
  readonly maxConnections: number;
  /** Attackers above it: each takes the place of another every 50 ms, so that a newcomer must send within max / over × 50 ms. */
  readonly overMaxConnections: number;
  readonly honest: { readonly smallPerSecond: number; readonly largePerSecond: number };
  /** Longest answer to a small and a large honest webhook. */
  readonly longestMs: { readonly small: number; readonly large: number };
  readonly peakMib: number;
};

export const LONG: Scale = {
  seconds: 20,
  warmUpMs: 2_000,
  ownIngress: true,
  idleConnections: 400,
  slowConnections: 1_500,
  crowdConnections: 2_000,
  floodConnections: 48,
  resets: 1_000,
  deafConnections: 50,
  maxConnections: 1_000,
  overMaxConnections: 200,
  honest: { smallPerSecond: 50, largePerSecond: 1 },
  longestMs: { small: 1_000, large: 3_000 },
  peakMib: 1_024,
};

/**
 * Fewer connections, for fewer seconds. Its times are those of a machine that runs other tests besides: they tell the
 * ten seconds of a sender that waits for memory from an answer that is late.
 */
export const SHORT: Scale = {
  ...LONG,
  seconds: 1,
  warmUpMs: 300,
  ownIngress: false,
  idleConnections: 120,
  slowConnections: 200,
  crowdConnections: 200,
  floodConnections: 8,
  resets: 300,
  deafConnections: 10,
  maxConnections: 400,
  overMaxConnections: 20,
  honest: { smallPerSecond: 20, largePerSecond: 1 },
  longestMs: { small: 6_000, large: 8_000 },
};

export type AttackContext = {
  readonly target: Target;
  readonly fixture: Fixture;
  readonly scale: Scale;
};

/** An attack on an ingress that runs for real, beside which honest streams are measured. */
export type Attack = {
  /** As `--only` takes it. */
  readonly name: string;
  /** For the table. */
  readonly what: string;
  readonly env?: (scale: Scale) => Record<string, string>;
  readonly isTls?: boolean;
  /** What it stored is read back whole: its topics hold nothing else. */
  readonly ownTopics?: boolean;
  /** Part of the short form too. */
  readonly short: boolean;
  /** No honest webhooks of 2 MB beside it. */
  readonly smallOnly?: boolean;
  /** Honest webhooks are to be taken, however late: it is more than the machine can read in time. */
  readonly isUntimed?: boolean;
  /** At most so many lines may be logged meanwhile. */
  readonly logLines?: number;
  /** @returns what went wrong, and a note for the table */
  run(context: AttackContext): Promise<AttackOutcome>;
};

export type AttackOutcome = { readonly note: string; readonly problems: readonly string[] };

/** A row of the table. */
export type Row = {
  readonly name: string;
  readonly what: string;
  readonly honest: HonestResult | null;
  readonly peakMib: number | null;
  readonly note: string;
  /** Empty where the attack achieved nothing. */
  readonly problems: readonly string[];
  readonly seconds: number;
};
