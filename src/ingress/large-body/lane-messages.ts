import type { Delivery, Receipt } from '../../core/delivery.ts';
import type { DeadLetterStage, ErrorCode } from '../../core/errors.ts';
import type { EncryptionKey } from '../../crypto/keys.ts';
import type { SealedLayout } from '../../crypto/layout.ts';
import type { KafkaSettings } from '../../kafka/connect/settings.ts';
import type { AttemptOutcome } from '../../kafka/produce/produce-batch.ts';

/** What the thread for large bodies is started with. No secret is among it: keys come with each job. */
export type WorkerOptions = {
  readonly kafka: KafkaSettings;
  readonly schemasDir: string | undefined;
  readonly topicPrefix: string;
  /** The registered id of each event schema, by its file. */
  readonly schemaIds: ReadonlyMap<string, number>;
  readonly layout: SealedLayout;
};

/** A verified delivery that the thread works on. */
export type Job = {
  readonly n: number;
  readonly kind: 'store' | 'identify';
  readonly delivery: Omit<Delivery, 'body'> & { readonly subscriptionId: string };
  /** Shared with the thread, or a copy for it. */
  readonly body: Uint8Array;
  /** The live encryption keys of its ref: key objects, which cross without their bytes being copied about. */
  readonly keys: readonly EncryptionKey[];
  /** Of the publishing. */
  readonly deadlineMs: number;
};

/** What became of a job. The thread reads its body no more. */
export type JobResult = {
  readonly kind: 'end';
  readonly n: number;
  readonly receipt?: Receipt;
  readonly eventId?: string;
  readonly fault?: { readonly code: ErrorCode; readonly detail: string | undefined; readonly cause?: string };
  readonly observations: Observations;
};

/** What a delivery's observer is to be told. */
export type Observations = {
  readonly matched: number[];
  readonly drift: Map<string, { readonly topic: string; readonly field: string; count: number }>;
  readonly deadLettered: DeadLetterStage[];
  unclassified: number;
};

export type WorkerMessage =
  | JobResult
  | { readonly kind: 'attempt'; readonly outcome: AttemptOutcome | 'confirmed' }
  | { readonly kind: 'confirmed'; readonly seconds: number }
  | { readonly kind: 'session' };
