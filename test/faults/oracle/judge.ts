import type { FaultTime } from '../schedule/run-steps.ts';
import type { Answer } from '../traffic/answers.ts';
import type { Sent } from '../traffic/sender.ts';
import { type AckTimes, ackTimesOf, isWithin } from './ack-times.ts';
import type { Stored } from './stored.ts';

/** What a run showed: counts of events unless the name says otherwise. */
export type Verdict = AckTimes & {
  readonly acked: number;
  /** Acknowledged with `"stored":"spool"`. */
  readonly spooled: number;
  /** Acknowledged, and not in its topic. */
  readonly lost: number;
  readonly duplicates: number;
  readonly orderViolations: number;
  /** Stored, but not byte for byte, or under another id than the answer's. */
  readonly altered: number;
  /** Refused with a 4xx, or never sent, and stored all the same; and tampered ones that were taken. */
  readonly wronglyStored: number;
  readonly longestAnswerMs: number;
  /** Answers that came after the deadline, and requests that got none. */
  readonly late: number;
  readonly unanswered: number;
  /** Of the requests that were begun while a fault stood, how many were answered 200; null where none was. */
  readonly okInFaults: number | null;
  /** The slowest answers, to be looked for in a log. */
  readonly slowest: readonly Answer[];
  readonly statuses: Readonly<Record<string, number>>;
  readonly errors: Readonly<Record<string, number>>;
};

export type Evidence = {
  readonly sent: Sent;
  readonly stored: Stored;
  readonly faultTimes: readonly FaultTime[];
  readonly deadlineMs: number;
};

/** So many of the slowest answers are kept. */
const SLOWEST = 5;

/** Holds what was answered against what is stored. */
export function judge({ sent, stored, faultTimes, deadlineMs }: Evidence): Verdict {
  const statuses: Record<string, number> = {};
  const inFaults = { all: 0, ok: 0 };
  const counts = { acked: 0, spooled: 0, lost: 0, late: 0, unanswered: 0 };
  let longestAnswerMs = 0;
  let slowest: Answer[] = [];
  for (const answer of sent.answers) {
    const { entity, number, tookMs, status } = answer;
    statuses[status] = (statuses[status] ?? 0) + 1;
    const isInFault = faultTimes.some((time) => isWithin(answer, time));
    if (isInFault) inFaults.all++;
    if (status === 0) counts.unanswered++;
    else longestAnswerMs = Math.max(longestAnswerMs, tookMs);
    if (tookMs > (slowest.at(SLOWEST - 1)?.tookMs ?? 0)) {
      slowest = [...slowest, answer].sort((a, b) => b.tookMs - a.tookMs).slice(0, SLOWEST);
    }
    if (tookMs > deadlineMs) counts.late++;
    if (status !== 200) continue;
    if (isInFault) inFaults.ok++;
    counts.acked++;
    if (answer.spooled) counts.spooled++;
    if (!stored.has(entity, number)) counts.lost++;
  }
  return {
    ...counts,
    duplicates: stored.countDuplicates(),
    orderViolations: stored.countOrderViolations(),
    altered: stored.altered + sent.wrongIds,
    wronglyStored: stored.refused + stored.foreign + sent.tampered.taken,
    longestAnswerMs,
    okInFaults: inFaults.all === 0 ? null : inFaults.ok / inFaults.all,
    ...ackTimesOf(sent.answers, faultTimes),
    slowest,
    statuses,
    errors: sent.errors,
  };
}

/** What a receiver must never show, in words; empty where it is sound. */
export function faultsOf(verdict: Verdict): string[] {
  const { lost, orderViolations, altered, wronglyStored, late } = verdict;
  const counts = { lost, 'out of order': orderViolations, altered, 'wrongly stored': wronglyStored, late };
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${count} ${what}`);
}
