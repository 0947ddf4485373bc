import type { Run } from '../deliveries/deliver.ts';
import type { Attempt } from '../deliveries/execution-store.ts';

export type TriggerProgress = ReturnType<typeof trackProgress>;

/** Counts what becomes of a trigger's deliveries, and resolves when all have got so far. */
export function trackProgress(planned: number) {
  const counts = { planned, sent: 0, skipped: 0, delivered: 0, failed: 0, cancelled: 0 };
  /** Attempts by the receiver's status; `none` where there was no answer. */
  const answers: Record<string, number> = {};
  const firsts = Promise.withResolvers<void>();
  const ends = Promise.withResolvers<void>();
  let withoutFirst = 0;
  let withoutEnd = 0;
  let allSent = false;
  const settle = () => {
    if (!allSent) return;
    if (withoutFirst === 0) firsts.resolve();
    if (withoutEnd === 0) ends.resolve();
  };
  return {
    /** Each delivery has had its first attempt. */
    firsts: firsts.promise,
    /** Each delivery has come to its end. */
    ends: ends.promise,
    follow({ execution, first, end }: Run): void {
      counts.sent += 1;
      withoutFirst += 1;
      withoutEnd += 1;
      void first.then(() => {
        withoutFirst -= 1;
        settle();
      });
      void end.then(() => {
        withoutEnd -= 1;
        const { state } = execution;
        if (state === 'delivered' || state === 'failed' || state === 'cancelled') counts[state] += 1;
        settle();
      });
    },
    count({ status }: Attempt): void {
      const name = status ?? 'none';
      answers[name] = (answers[name] ?? 0) + 1;
    },
    /** One that has no subscription any more. */
    skip(): void {
      counts.skipped += 1;
    },
    /** No more will follow. */
    close(): void {
      allSent = true;
      settle();
    },
    report: () => ({ ...counts, pending: withoutEnd, answers: { ...answers } }),
  };
}
