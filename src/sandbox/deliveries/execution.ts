import { randomUUID } from 'node:crypto';
import type { EnvelopeNames, Layout } from './layout.ts';
import type { PreparedDelivery } from './prepare-delivery.ts';

export type ExecutionState = 'waiting' | 'retrying' | 'delivered' | 'failed' | 'cancelled';

/** One try to deliver: `status` is the receiver's answer, or null with an `error` where there was none. */
export type Attempt = {
  readonly number: number;
  readonly at: string;
  readonly durationMs: number;
  readonly status: number | null;
  readonly error: string | null;
  /** The first 64 KiB of the answer. */
  readonly responseBody: string;
};

/** A webhook run: one message to one subscription, with every try. Kept so that it can be replayed. */
export type Execution = {
  readonly id: string;
  readonly subscriptionId: string;
  readonly triggerId: string | null;
  readonly replayOf: string | null;
  readonly type: string | null;
  readonly entityId: string | null;
  readonly createdAt: string;
  /** The message as it is before sealing. */
  readonly message: Buffer;
  readonly sealing: { readonly layout: Layout; readonly names: EnvelopeNames } | null;
  url: string;
  /** What is sent, the same in each try; null until it is sealed and signed. */
  sent: PreparedDelivery | null;
  state: ExecutionState;
  nextAttemptAt: string | null;
  readonly attempts: Attempt[];
};

export const isFinal = (execution: Execution): boolean =>
  execution.state !== 'waiting' && execution.state !== 'retrying';

/** The memory that an execution holds: a plain message is its own body. */
export const bytesOf = (execution: Execution): number =>
  execution.message.length * (execution.sealing === null ? 1 : 2);

/** What is known of an execution before anything happened. */
export type ExecutionSeed = Pick<
  Execution,
  'subscriptionId' | 'triggerId' | 'replayOf' | 'type' | 'entityId' | 'message' | 'sealing' | 'url'
>;

export const newExecution = (seed: ExecutionSeed, now: number): Execution => ({
  ...seed,
  id: randomUUID(),
  createdAt: new Date(now).toISOString(),
  sent: null,
  state: 'waiting',
  nextAttemptAt: null,
  attempts: [],
});
