import type { SchemaFile } from '../../avro/schema-files.ts';
import type { Delivery, DeliveryIdentity, Receipt } from '../../core/delivery.ts';
import type { DeadLetterStage } from '../../core/errors.ts';
import type { EncryptionKey } from '../../crypto/keys.ts';
import type { SealedLayout } from '../../crypto/layout.ts';
import type { SealingKeys } from '../../crypto/sealing.ts';
import type { RecordRoom } from '../../delivery/ports.ts';
import type { KafkaSettings } from '../../kafka/connect/settings.ts';
import type { AttemptOutcome } from '../../kafka/produce/attempt-error.ts';
import type { WriteOutcome } from '../../object-store/body-store.ts';
import type { BodyStoreSettings } from '../../object-store/settings.ts';
import type { ThreadFault } from '../../runtime/worker-calls.ts';

/** What the thread for large bodies is started with. Keys are key objects, and those of subscriptions come with each job. */
export type WorkerOptions = {
  readonly kafka: KafkaSettings;
  /** As the process read them when it started: the ids are theirs. */
  readonly schemaFiles: readonly SchemaFile[];
  readonly topicPrefix: string;
  /** The registered id of each event schema, by its file. */
  readonly schemaIds: ReadonlyMap<string, number>;
  readonly layout: SealedLayout;
  readonly bodyStore: BodyStoreSettings;
  /** Of one write to it. */
  readonly bodyStoreAttempts: number | undefined;
};

/** A job may wait for the brokers for longer than its token lives: the next one comes by itself. */
export type TokenJob = { readonly kind: 'token'; readonly kafkaToken: string | undefined };

/** A verified delivery that the thread works on. */
export type Job = {
  readonly kind: 'store' | 'identify';
  readonly delivery: Omit<Delivery, 'body'> & { readonly subscriptionId: string };
  /** Shared with the thread, or a copy for it. */
  readonly body: Uint8Array;
  /** The live encryption keys of its ref: key objects, so that their bytes are not copied. */
  readonly keys: readonly EncryptionKey[];
  /** Of the publishing. */
  readonly deadlineMs: number;
  readonly recordRoom: RecordRoom;
  readonly kafkaToken: string | undefined;
  readonly bodySealing: SealingKeys | undefined;
  /** Why the object store is not to be tried. */
  readonly storeFault?: ThreadFault;
};

/** What became of a job. The thread reads its body no more. */
export type JobResult = {
  readonly receipt?: Receipt;
  readonly identity?: DeliveryIdentity;
  readonly fault?: ThreadFault;
  /** The record would take more than its share of memory: nothing was stored. */
  readonly isTooLong?: boolean;
  readonly observations: Observations;
};

/** What the delivery's observer is to be called with. */
export type Observations = {
  /** Indexes of the encryption keys that matched. */
  readonly matched: number[];
  readonly drift: Map<string, { readonly topic: string; readonly field: string; count: number }>;
  readonly deadLettered: DeadLetterStage[];
  unclassified: number;
};

/** What the thread's publisher and its object store report. */
export type WorkerEvent =
  | { readonly kind: 'attempt'; readonly outcome: AttemptOutcome | 'confirmed' }
  | { readonly kind: 'confirmed'; readonly seconds: number }
  | {
      readonly kind: 'object';
      readonly outcome: WriteOutcome;
      readonly seconds: number;
      readonly fault: ThreadFault | undefined;
    }
  | { readonly kind: 'session' }
  | { readonly kind: 'token-rejected'; readonly token: string };
