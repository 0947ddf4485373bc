import {
  type Delivery,
  restoreVerified,
  type StoredDelivery,
  type VerifiedDelivery,
} from '../core/delivery.ts';
import type { SealingKeys } from '../crypto/sealing.ts';

/** A delivery as it crosses to the spool's thread and is stored in its table. */
export type SpoolRow = {
  readonly ref: string;
  readonly subscriptionId: string;
  readonly mediaType: Delivery['mediaType'];
  readonly receivedAt: number;
  readonly traceparent: string | null;
  readonly body: Uint8Array;
};

/** A row with its position in the order of arrival; its body is what was appended, unless the row was changed since. */
export type StoredRow = SpoolRow & { readonly id: number; readonly isChanged: boolean };

/** What there is in the spool. */
export type SpoolState = {
  readonly rows: number;
  /** Of the file's pages that are in use. */
  readonly bytes: number;
  /** When the oldest delivery was received, in milliseconds since 1970; null where there is none. */
  readonly oldestAt: number | null;
  /** Rows, counted above, that no key of SEALING_KEY_FILE opens. */
  readonly keyMissing: number;
};

/** How much is read at once, and of which rows: those behind the one with the id `after`. */
export type ReadLimits = { readonly maxRows: number; readonly maxBytes: number; readonly after?: number };

/** A row that was changed on the disk proves nothing: its bytes may not be the provider's. */
export type SpooledDelivery =
  | { readonly id: number; readonly isChanged: false; readonly delivery: VerifiedDelivery }
  | { readonly id: number; readonly isChanged: true; readonly delivery: StoredDelivery };

export function toRow(delivery: VerifiedDelivery): SpoolRow {
  const { ref, subscriptionId, mediaType, receivedAt, traceparent = null, body } = delivery;
  return { ref, subscriptionId, mediaType, receivedAt, traceparent, body };
}

/** What is in the spool was verified before: its signature is not kept, and its key may be retired by now. */
export function toDelivery(stored: StoredRow): SpooledDelivery {
  const { id, isChanged, traceparent, body, ...row } = stored;
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const delivery = { ...row, traceparent: traceparent ?? undefined, body: bytes };
  return isChanged ? { id, isChanged, delivery } : { id, isChanged, delivery: restoreVerified(delivery) };
}

/** What the spool's thread is asked to do. Each answer is the rows that were read, if any. */
export type SpoolRequest =
  | { readonly kind: 'open' }
  | AppendRequest
  | { readonly kind: 'read'; readonly limits: ReadLimits }
  | { readonly kind: 'remove'; readonly ids: readonly number[] }
  | { readonly kind: 'probe' }
  | { readonly kind: 'close' };

export type AppendRequest = { readonly kind: 'append'; readonly row: SpoolRow };

export type ThreadOptions = {
  readonly dir: string;
  readonly maxBytes: number;
  /** Seal each row; unset means that rows only have a checksum. */
  readonly sealingKeys?: SealingKeys | undefined;
};
