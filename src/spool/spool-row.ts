import {
  type Delivery,
  restoreVerified,
  type StoredDelivery,
  type VerifiedDelivery,
} from '../core/delivery.ts';
import type { SealingKeys } from '../crypto/sealing.ts';
import { MAX_COPIES } from './damaged-copies.ts';

/** An acknowledged event that is not in Kafka after this time is late: the objective in deploy/helm/hookline/files/alerts.yaml says so. */
export const LATE_AFTER_MS = 60_000;

/** A delivery as it is sent to the spool's thread and stored in its table. */
export type SpoolRow = {
  readonly ref: string;
  readonly subscriptionId: string;
  readonly mediaType: Delivery['mediaType'];
  readonly receivedAt: number;
  readonly traceparent: string | null;
  readonly body: Uint8Array;
};

/** A row with its position in the order of arrival. Its body is the appended one, unless the row was changed since. */
export type StoredRow = SpoolRow & { readonly id: number; readonly isChanged: boolean };

/** The content of the spool in numbers. */
export type SpoolState = {
  readonly rows: number;
  /** Bytes of the file's pages that are in use. */
  readonly bytes: number;
  /** When the oldest delivery was received, in milliseconds since 1970; null if there is none. */
  readonly oldestAt: number | null;
  /** Those of `rows` that no key of SEALING_KEY_FILE opens. */
  readonly keyMissing: number;
  /** Rows that had no seal when the file was opened although there is a key: nothing proves where they come from. */
  readonly unproven: number;
  /** Whether its log was damaged, or without its database, when the file was opened: rows in it are lost. */
  readonly isDamaged: boolean;
  /** Where a copy of that log is; null where there is none. */
  readonly damagedCopy: string | null;
  /** Rows that `count-late` has found since the process started, drained since or not. */
  readonly late: number;
};

/** Those of its numbers that a process keeps while it has the file open. */
export type SpoolCounts = Pick<SpoolState, 'rows' | 'keyMissing' | 'unproven' | 'isDamaged' | 'damagedCopy'>;

/** What is said of `unproven` rows. */
export const HAD_NO_SEAL =
  'deliveries in the spool had no seal: unless SEALING_KEY_FILE is new, find out who can write to the volume';

/** Whether the log was found damaged. A try to open the file that fails afterwards leaves nothing of it to be found. */
export type LogDamage = Pick<SpoolState, 'isDamaged' | 'damagedCopy'>;

export const UNDAMAGED: LogDamage = { isDamaged: false, damagedCopy: null };

/** What is said where `isDamaged`. */
export function damageText({ damagedCopy }: Pick<LogDamage, 'damagedCopy'>): string {
  const copy =
    damagedCopy === null
      ? `there is no copy of it: there was no space, or there are ${MAX_COPIES} copies (.damaged), which you can move away`
      : `a copy is in ${damagedCopy}`;
  return `the log of the spool was damaged, or without its database: deliveries that were answered 200 are lost with it; ${copy}. Have the provider replay the time of the outage.`;
}

/** What the counts so far have found: each row counts once. */
export type LateCount = {
  /** Rows that were received before this time have been counted; milliseconds since 1970. */
  readonly before: number;
  /** Rows with lower ids have been counted. */
  readonly fromId: number;
  readonly count: number;
};

/** How much is read at once. */
export type ReadLimits = {
  readonly maxRows: number;
  readonly maxBytes: number;
  /** Only rows behind this id. */
  readonly after?: number;
  /** Only rows before the first with a longer body. */
  readonly maxRowBytes?: number;
  /** Rows that are left out. */
  readonly passOver?: ReadonlySet<number>;
};

/** A row that was changed on the disk is not verified: its bytes may not be the provider's. */
export type SpooledDelivery =
  | { readonly id: number; readonly isChanged: false; readonly delivery: VerifiedDelivery }
  | { readonly id: number; readonly isChanged: true; readonly delivery: StoredDelivery };

export function toRow(delivery: VerifiedDelivery): SpoolRow {
  const { ref, subscriptionId, mediaType, receivedAt, traceparent = null, body } = delivery;
  return { ref, subscriptionId, mediaType, receivedAt, traceparent, body };
}

/** The deliveries of the spool were verified before; their signatures are not stored, and their keys may be retired. */
export function toDelivery(stored: StoredRow): SpooledDelivery {
  const { id, isChanged, traceparent, body, ...row } = stored;
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const delivery = { ...row, traceparent: traceparent ?? undefined, body: bytes };
  return isChanged ? { id, isChanged, delivery } : { id, isChanged, delivery: restoreVerified(delivery) };
}

/** What the spool's thread answers: the rows that were read, or the ids of those that can be read, if they were asked for. */
export type SpoolAnswer = { readonly rows?: readonly StoredRow[]; readonly ids?: readonly number[] };

/** Requests to the spool's thread. */
export type SpoolRequest =
  | { readonly kind: 'open' }
  | AppendRequest
  | { readonly kind: 'read'; readonly limits: ReadLimits }
  | { readonly kind: 'readable'; readonly ids: readonly number[] }
  | { readonly kind: 'remove'; readonly ids: readonly number[] }
  | { readonly kind: 'probe' }
  | { readonly kind: 'count-late'; readonly before: number }
  | { readonly kind: 'renew-keys'; readonly sealingKeys: SealingKeys }
  | { readonly kind: 'close' };

export type AppendRequest = { readonly kind: 'append'; readonly row: SpoolRow };

export type ThreadOptions = {
  readonly dir: string;
  readonly maxBytes: number;
  /** The keys that seal each row; undefined: rows have only a checksum. */
  readonly sealingKeys?: SealingKeys | undefined;
};
