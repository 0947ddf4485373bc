/**
 * Why one attempt to produce a batch did not end with a confirmation, and so what to do next:
 * - `doubt`: nobody knows whether it was written: send the identical batch again, over a fresh client
 * - `retry`: the broker said that it was not written, and will take it later: send it again over the same client
 * - `replan`: the topic has another number of partitions than the lanes: nothing was sent
 * - `late`: a record of the batch has passed its deadline or was given up: nothing was sent
 * - `split`: the batch is larger than the topic takes: halve it, or give the record up if it is alone
 * - `refused`: the brokers won't take it, however often it is sent
 */
export type AttemptOutcome = 'doubt' | 'retry' | 'replan' | 'late' | 'split' | 'refused';

export class AttemptError extends Error {
  readonly outcome: AttemptOutcome;
  constructor(outcome: AttemptOutcome, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'AttemptError';
    this.outcome = outcome;
  }
}

/** Kafka's error codes whose meaning is certain. Whatever isn't here is doubt. */
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

/** Reads a client's error, which may be nested in aggregates and causes. */
export function toAttemptError(error: unknown): AttemptError {
  if (error instanceof AttemptError) return error;
  const apiId = findApiId(error);
  const outcome = (apiId !== undefined && OUTCOMES[apiId]) || 'doubt';
  return new AttemptError(outcome, apiId ?? messageOf(error), { cause: error });
}

function findApiId(error: unknown, depth = 0): string | undefined {
  if (!(error instanceof Error) || depth > 8) return undefined;
  const { apiId } = error as { apiId?: unknown };
  if (typeof apiId === 'string') return apiId;
  // The producer's metadata call says this in words alone.
  if (/^Unknown topic /.test(error.message)) return 'UNKNOWN_TOPIC_OR_PARTITION';
  for (const inner of error instanceof AggregateError ? error.errors : []) {
    const found = findApiId(inner, depth + 1);
    if (found !== undefined) return found;
  }
  return findApiId(error.cause, depth + 1);
}

function messageOf(error: unknown): string {
  let innermost = error;
  while (innermost instanceof AggregateError && innermost.errors.length > 0) innermost = innermost.errors[0];
  return innermost instanceof Error ? innermost.message : String(innermost);
}
