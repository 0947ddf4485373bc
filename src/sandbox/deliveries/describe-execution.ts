import type { Execution } from './execution-store.ts';
import { contentTypeOf } from './layout.ts';

/** An execution as the control API shows it; `sentBody` is the message before sealing, null where it was left out. */
export function describeExecution(execution: Execution, options: { body: boolean }) {
  const last = execution.attempts.at(-1);
  return {
    id: execution.id,
    subscriptionId: execution.subscriptionId,
    triggerId: execution.triggerId,
    replayOf: execution.replayOf,
    type: execution.type,
    entityId: execution.entityId,
    url: execution.url,
    state: execution.state,
    createdAt: execution.createdAt,
    nextAttemptAt: execution.nextAttemptAt,
    sealed: execution.sealing !== null,
    layout: execution.sealing?.layout.name ?? null,
    contentType: execution.sent?.headers['content-type'] ?? contentTypeOf(execution.sealing?.layout ?? null),
    bytes: execution.sent?.body.length ?? execution.message.length,
    /** Of the last attempt. */
    status: last?.status ?? null,
    error: last?.error ?? null,
    responseBody: last?.responseBody ?? null,
    attempts: execution.attempts,
    sentBody: options.body ? execution.message.toString('utf8') : null,
  };
}

/** The same with all that went over the wire, byte for byte. */
export function describeInFull(execution: Execution) {
  return {
    ...describeExecution(execution, { body: true }),
    headers: execution.sent?.headers ?? null,
    messageBase64: execution.message.toString('base64'),
    bodyBase64: execution.sent?.body.toString('base64') ?? null,
  };
}
