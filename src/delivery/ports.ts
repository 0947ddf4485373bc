import type { DeadLetterStage } from '../core/errors.ts';
import type { OutgoingRecord, Position } from '../core/record.ts';
import type { EncryptionKey } from '../crypto/keys.ts';
import type { SealedLayout } from '../crypto/layout.ts';
import type { SealingKeys } from '../crypto/sealing.ts';
import type { ClaimCheck, RecordObject } from './claim-check.ts';
import type { EventRoutes } from './event-routes.ts';

/** What the delivery flow needs from outside; Kafka and HTTP stand behind these. */
export type DeliveryPorts = {
  readonly layout: SealedLayout;
  readonly routes: EventRoutes;
  /** Full name of the dead-letter topic. */
  readonly deadLetterTopic: string;
  /** The encryption keys of a ref, the current one first, the live ones before others. */
  readonly encryptionKeysOf: (ref: string) => readonly EncryptionKey[];
  /** Resolves when all in-sync replicas have the record, and the object store what it refers to. */
  readonly publish: (record: OutgoingRecord, object?: RecordObject) => Promise<Position>;
  /** Where large messages go; undefined: every record holds its message. */
  readonly claims?: ClaimCheck | undefined;
  /** Seals dead-lettered bodies of types that do not keep their messages in Kafka; undefined where all types do. */
  readonly bodySealing?: SealingKeys | undefined;
  /** Bytes of the largest record that a topic takes, as far as it is known. */
  readonly limitOf: (topic: string) => number;
  readonly observer: DeliveryObserver;
  /** For an event's record, and what is kept on the way to it; unset: as much as the longest takes that a broker reads. */
  readonly recordRoom?: RecordRoom | undefined;
  /** For large bodies: what they become on their way has its memory from here. */
  readonly memory?: WorkMemory;
};

/** Memory for a record: a few bytes of JSON may become many of it. */
export type RecordRoom = {
  /** Of the record, at the most. */
  readonly bytes: number;
  /** Whether a longer one has more where its body is worked on alone: TooLong is thrown then. */
  readonly isShare: boolean;
};

/** Memory that is reused. What is not given back is collected like any other. */
export type WorkMemory = {
  /** So many bytes of it stay free before and behind a record's value. */
  readonly headroom: number;
  /** At least so many bytes, with whatever was in them before. */
  take(bytes: number): Buffer;
  /**
   * Gives back what was taken, or a part of it. It is not read any more, or only by what failed: an upload that was given up
   * may still be under way, and what it sends does not count.
   */
  give(bytes: Buffer, options?: { readonly mayBeRead: boolean }): void;
  /** The same, and it is not used again. */
  drop(bytes: Buffer): void;
};

export type DeliveryObserver = {
  /** `index` is the position of the key among the ref's live keys; 0 is the current one. */
  keyMatched(ref: string, use: 'signing' | 'encryption', index: number): void;
  /** `count` values of a field did not fit; one, if omitted. */
  drift(topic: string, field: string, count?: number): void;
  unclassified(): void;
  deadLettered(stage: DeadLetterStage): void;
};

/** How large a record each topic takes, as far as it is known. */
export type TopicLimits = {
  /** Bytes of the largest record on the wire. Never above what a broker reads in one request, known or not. */
  of(topic: string): number;
  /** Asks the brokers again, unless they were asked a moment ago. Without an answer what was known stays. */
  renew(): Promise<void>;
};

/** The publisher, as far as the stores need it. */
export type StorePublisher = {
  /** @throws HooklineError PUBLISH_DEADLINE after `deadlineMs`: the record may be there or not */
  publish(record: OutgoingRecord, deadlineMs: number): Promise<Position>;
  /** Rejects everything that waits and has a deadline, as if that had passed now. */
  dropWaiting(): void;
  /** Why the brokers do not confirm records now, or null. */
  trouble(): string | null;
};
