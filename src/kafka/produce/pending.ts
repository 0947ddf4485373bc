import { HooklineError } from '../../core/errors.ts';
import type { WireRecord } from './encode-batch.ts';

/** A record that waits for its confirmation. */
export type Pending = WireRecord & {
  /** Of its publishing; a refusal renews it. */
  timestamp: bigint;
  /** Its size on the wire, or a few bytes less: never more. */
  readonly bytes: number;
  /** The partition that it was published to, where its key doesn't say that. */
  readonly partition: number | undefined;
  /** On the clock of `clock.now()`. After it the record is rejected, and no longer sent. */
  readonly deadline: number;
  /** Confirmed or rejected. */
  settled: boolean;
  readonly confirm: (partition: number, offset: bigint) => void;
  readonly reject: (error: Error) => void;
};

/** The same array where no record was given up: then the identical batch is sent again. */
export const stillWanted = (batch: Pending[]): Pending[] =>
  batch.some(({ settled }) => settled) ? batch.filter(({ settled }) => !settled) : batch;

export const isWhole = (batch: readonly Pending[], now: number) =>
  batch.every(({ settled, deadline }) => !settled && deadline > now);

export const sum = (batch: readonly Pending[]) => batch.reduce((bytes, record) => bytes + record.bytes, 0);

/** Its deadline has passed: it may have been written or not. */
export function rejectLate(record: Pending): void {
  if (!record.settled) record.reject(new HooklineError('PUBLISH_DEADLINE'));
}

export function rejectAll(batch: readonly Pending[], error: Error): void {
  for (const record of batch) if (!record.settled) record.reject(error);
}
