import type { FaultTime } from '../schedule/run-steps.ts';
import type { Answer } from '../traffic/answers.ts';

/** Milliseconds until an acknowledgement was there; 0 where there was none. */
export type AckTimes = {
  /** Begun outside of faults, and confirmed by Kafka. */
  readonly calmP50: number;
  readonly calmP99: number;
  /** Begun while a fault stood. */
  readonly faultP50: number;
  readonly faultP99: number;
  /** Stored in the spool, and begun after the first that was: what the switch itself took is not in it. */
  readonly spoolP50: number;
  readonly spoolP99: number;
};

/** The 200s among the answers. */
export function ackTimesOf(answers: Iterable<Answer>, faultTimes: readonly FaultTime[]): AckTimes {
  const calm: number[] = [];
  const fault: number[] = [];
  const spooled: Answer[] = [];
  for (const answer of answers) {
    if (answer.status !== 200) continue;
    if (answer.spooled) spooled.push(answer);
    if (faultTimes.some((time) => isWithin(answer, time))) fault.push(answer.tookMs);
    else if (!answer.spooled) calm.push(answer.tookMs);
  }
  const switched = faultTimes.map(({ from }, n) => {
    const next = faultTimes[n + 1]?.from ?? Number.POSITIVE_INFINITY;
    const of = spooled.filter(({ sentAt }) => sentAt >= from && sentAt < next);
    const at = of.reduce((first, { sentAt, tookMs }) => Math.min(first, sentAt + tookMs), next);
    return of.filter(({ sentAt }) => sentAt >= at).map(({ tookMs }) => tookMs);
  });
  const spool = switched.flat();
  return {
    calmP50: quantile(calm, 0.5),
    calmP99: quantile(calm, 0.99),
    faultP50: quantile(fault, 0.5),
    faultP99: quantile(fault, 0.99),
    spoolP50: quantile(spool, 0.5),
    spoolP99: quantile(spool, 0.99),
  };
}

export const isWithin = ({ sentAt }: Answer, { from, to }: FaultTime): boolean =>
  sentAt >= from && sentAt < to;

function quantile(values: number[], share: number): number {
  values.sort((a, b) => a - b);
  return values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0;
}
