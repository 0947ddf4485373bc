import { type DeadLetterTopic, isUnreadNow } from './dead-letter-topic.ts';
import type { DeadLetter } from './dead-letters.ts';
import type { Redelivery } from './open-redelivery.ts';
import { orderOfDeadLetter } from './redrive-delivery.ts';
import { type DeadLetterOutcome, redriveOne, refusalOf } from './redrive-one.ts';
import { type RunOptions, runInOrder } from './run-in-order.ts';

export type RedriveRun = RunOptions & {
  readonly topic: Pick<DeadLetterTopic, 'bodiesOf'>;
  readonly redelivery: Redelivery;
};

/** Redrives dead-letter records in the order in which they were received, and returns the outcome of each. */
export const redriveAll = (
  selected: readonly DeadLetter[],
  { topic, redelivery, ...options }: RedriveRun,
): Promise<DeadLetterOutcome[]> =>
  runInOrder(selected, {
    ...options,
    async prepare(batch, ending) {
      const bodies = await topic.bodiesOf(
        batch.filter((one) => refusalOf(one) === null),
        ending,
      );
      const unread = batch.findIndex(({ at }) => isUnreadNow(bodies.get(at)));
      return { bodies, behindUnread: new Set(unread < 0 ? [] : batch.slice(unread)) };
    },
    // Whose entity the unread one is of is not known: it ends the run, when all before it are done.
    orderOf: (deadLetter, { bodies, behindUnread }) =>
      behindUnread.has(deadLetter)
        ? null
        : orderOfDeadLetter(deadLetter, bodies.get(deadLetter.at), redelivery.delivery),
    one: (deadLetter, { bodies }, passed) =>
      redriveOne(deadLetter, bodies.get(deadLetter.at), redelivery, passed),
  });
