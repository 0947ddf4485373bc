import { textWithCode } from '../../core/errors.ts';
import { apiIdOf } from '../connect/platformatic-client.ts';

/**
 * Why one attempt to produce a batch did not end with a confirmation, and so what to do next:
 * - `unknown`: it may have been written or not: send the identical batch again, over a fresh client
 * - `retry`: the broker said that it was not written, and will take it later: send it again over the same client
 * - `replan`: the topic has another number of partitions than the queues: nothing was sent
 * - `late`: a record of the batch has passed its deadline or was given up: nothing was sent
 * - `split`: the batch is larger than the topic takes: halve it, or give the record up if it is alone
 * - `refused`: the brokers won't take it, however often it is sent
 */
export type AttemptOutcome = 'unknown' | 'retry' | 'replan' | 'late' | 'split' | 'refused';

export class AttemptError extends Error {
  readonly outcome: AttemptOutcome;
  constructor(outcome: AttemptOutcome, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'AttemptError';
    this.outcome = outcome;
  }
}

/** Kafka's error codes whose meaning is certain. Whatever is not here has an unknown outcome. */
const OUTCOMES: Readonly<Record<string, AttemptOutcome>> = {
  MESSAGE_TOO_LARGE: 'split',
  RECORD_LIST_TOO_LARGE: 'split',
  TOPIC_AUTHORIZATION_FAILED: 'refused',
  CLUSTER_AUTHORIZATION_FAILED: 'refused',
  INVALID_TOPIC_EXCEPTION: 'refused',
  INVALID_RECORD: 'refused',
  INVALID_TIMESTAMP: 'refused',
  UNSUPPORTED_FOR_MESSAGE_FORMAT: 'refused',
  NOT_LEADER_OR_FOLLOWER: 'retry',
  LEADER_NOT_AVAILABLE: 'retry',
  UNKNOWN_TOPIC_OR_PARTITION: 'retry',
  NOT_ENOUGH_REPLICAS: 'retry',
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: 'retry',
  THROTTLING_QUOTA_EXCEEDED: 'retry',
  KAFKA_STORAGE_ERROR: 'retry',
};

/** What ends a trouble by this name; undefined where that is not known. Who may write to a topic may see it, too. */
export function remedyFor(apiId: string, topic: string): string | undefined {
  if (apiId === 'TOPIC_AUTHORIZATION_FAILED')
    return `grant Write on ${topic} to the user that Hookline logs in as`;
  if (apiId === 'UNKNOWN_TOPIC_OR_PARTITION') return 'run hookline topics apply, which creates it';
  return undefined;
}

/** What an error of the broker for a partition means, by its name in Kafka's protocol. */
export const brokerRefusal = (apiId: string): AttemptError =>
  new AttemptError(OUTCOMES[apiId] ?? 'unknown', apiId);

/** Reads a client's error, which may be nested in aggregates and causes. */
export function toAttemptError(error: unknown): AttemptError {
  if (error instanceof AttemptError) return error;
  const apiId = apiIdOf(error);
  const outcome = (apiId !== undefined && OUTCOMES[apiId]) || 'unknown';
  return new AttemptError(outcome, apiId ?? messageOf(error), { cause: error });
}

function messageOf(error: unknown): string {
  let innermost = error;
  while (innermost instanceof AggregateError && innermost.errors.length > 0) innermost = innermost.errors[0];
  return textWithCode(innermost);
}
