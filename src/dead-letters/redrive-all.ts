import type { DeadLetterTopic } from './dead-letter-topic.ts';
import type { DeadLetter } from './dead-letters.ts';
import type { Redelivery } from './open-redelivery.ts';
import { orderOfDeadLetter } from './redrive-delivery.ts';
import { type DeadLetterOutcome, redriveOne } from './redrive-one.ts';
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
    prepare: (batch) => topic.bodiesOf(batch.filter(({ missing }) => missing.length === 0)),
    orderOf: (deadLetter, bodies) =>
      orderOfDeadLetter(deadLetter, bodies.get(deadLetter.at), redelivery.delivery),
    one: (deadLetter, bodies, passed) =>
      redriveOne(deadLetter, bodies.get(deadLetter.at), redelivery, passed),
  });
