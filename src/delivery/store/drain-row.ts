import { isLarge, type LargeBodyPublisher, type StoredDelivery } from '../../core/delivery.ts';
import { HooklineError, hasCode } from '../../core/errors.ts';
import type { OutgoingRecord, Position } from '../../core/record.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type Backoff, retry } from '../../runtime/retry.ts';
import type { Spool } from '../../spool/spool.ts';
import type { SpooledDelivery } from '../../spool/spool-row.ts';
import { isForObjectStore, objectFirst } from '../claim-check.ts';
import { storeDeadLetter } from '../dead-letter/store-dead-letter.ts';
import type { DeliveryPorts } from '../ports.ts';
import { publishDelivery } from '../publish-delivery.ts';
import { RowSkipped } from './refusing-topics.ts';
import type { WaitingRows } from './waiting-rows.ts';

export type DrainPorts = {
  readonly spool: Pick<Spool, 'read' | 'readable' | 'remove' | 'outstanding' | 'keyRenewals'>;
  readonly delivery: Omit<DeliveryPorts, 'publish'>;
  /** Waits for Kafka as long as it takes. */
  readonly send: (record: OutgoingRecord) => Promise<Position>;
  readonly observer: DrainObserver;
  readonly clock: Clock;
  readonly stopping: AbortSignal;
  /** Takes the large ones; without it they are published like all others. */
  readonly large?: LargeBodyPublisher;
  /** So many more are stored, and no longer in the spool. */
  readonly onDrained?: (rows: number) => void;
  /** What is left, but for rows that wait for the object store, is about one batch. */
  readonly onNearlyEmpty?: () => void;
  /** Nothing is left but rows that wait for the object store. */
  readonly onOnlyWaiting?: (waiting: Pick<WaitingRows, 'orders' | 'why'>) => void;
  /** Rows of this key wait for the object store; see {@link orderKey}. */
  readonly onHeld?: (order: string) => void;
};

export type DrainObserver = {
  /** So many more are stored, and no longer in the spool: a drain may take hours. */
  rowsDrained?(rows: number): void;
  /** A delivery could not be published, or the disk not be read, and is tried again. */
  drainFailed(error: unknown): void;
  /** An error that no part of the drain has foreseen: it begins again when its rows have ended. */
  drainBroken?(error: unknown): void;
  /** A delivery stays in the spool: the object store does not take its message. Said at each try. */
  notTaken?(error: HooklineError): void;
};

const RETRY: Backoff = { firstMs: 1_000, factor: 1, maxMs: 1_000 };

/**
 * The sender was answered that it is stored: whatever happens here, it must be stored somewhere.
 * @returns false where its topic takes no records, or the object store no messages: it stays in the spool
 */
export async function drainOne(
  row: SpooledDelivery,
  ports: DrainPorts,
  delivery: DeliveryPorts,
): Promise<boolean> {
  return persist(ports, async () => {
    try {
      await publishRow(row, ports, delivery);
      return true;
    } catch (error) {
      if (stays(error, ports.observer)) return false;
      throw error;
    }
  });
}

async function publishRow(row: SpooledDelivery, ports: DrainPorts, delivery: DeliveryPorts): Promise<void> {
  try {
    if (row.isChanged) await deadLetterChanged(row.delivery, delivery);
    else await publishDelivery(row.delivery, delivery);
  } catch (error) {
    if (error instanceof RowSkipped || error instanceof HooklineError) throw error;
    await deadLetterUnreadable(row.delivery, error, ports, delivery);
  }
}

export type VerifiedRow = Extract<SpooledDelivery, { isChanged: false }>;

export const isLargeRow = (row: SpooledDelivery): row is VerifiedRow =>
  !row.isChanged && isLarge(row.delivery);

/**
 * Stores a large one. One that ends its thread twice becomes a dead-letter record as it is: nothing that comes
 * later could pass it.
 * @returns why the object store did not take it, which stays in the spool; null where it is stored
 */
export async function drainLarge(
  row: VerifiedRow,
  ports: DrainPorts,
  large: LargeBodyPublisher,
): Promise<HooklineError | null> {
  let deaths = 0;
  return persist(ports, async () => {
    try {
      await large.drain(row.delivery);
      return null;
    } catch (error) {
      if (isForObjectStore(error)) {
        ports.observer.notTaken?.(error);
        return error;
      }
      if (hasCode(error, 'LARGE_BODY_FAILED')) deaths++;
      if (deaths < 2 && !hasCode(error, 'INTERNAL')) throw error;
      const { claims } = ports.delivery;
      const delivery = { ...ports.delivery, publish: objectFirst(claims, ports.send) };
      // A copy: pieces of it may still be under way when the caller gives the row's memory back.
      const copy = { ...row.delivery, body: Buffer.from(row.delivery.body) };
      return await deadLetterUnreadable(copy, error, ports, delivery).then(() => null, refusalOrThrow);
    }
  });
}

function refusalOrThrow(error: unknown): HooklineError {
  if (isForObjectStore(error)) return error;
  throw error;
}

/** The end of the year 9999: later times have no name in an object store. */
const LATEST_MS = Date.UTC(10_000, 0) - 1;

/** Of a changed row the columns may hold anything, of any length. */
async function deadLetterChanged(delivery: StoredDelivery, ports: DeliveryPorts): Promise<void> {
  const ref = delivery.ref.slice(0, 100);
  const subscriptionId = delivery.subscriptionId.slice(0, 100);
  const reason = new HooklineError('SPOOL_ROW_CHANGED');
  const mediaType: StoredDelivery['mediaType'] = delivery.mediaType === 'json' ? 'json' : 'octet-stream';
  const receivedAt = Math.min(LATEST_MS, Math.max(0, delivery.receivedAt));
  const named = { ...delivery, ref, subscriptionId, mediaType, receivedAt, traceparent: undefined };
  await storeDeadLetter({ delivery: named, eventId: undefined, reason, stage: 'SPOOL' }, ports);
}

async function deadLetterUnreadable(
  delivery: StoredDelivery,
  cause: unknown,
  { observer }: DrainPorts,
  ports: DeliveryPorts,
): Promise<void> {
  observer.drainFailed(cause);
  const reason = new HooklineError('UNENCODABLE', undefined, { cause });
  await storeDeadLetter({ delivery, eventId: undefined, reason, stage: 'ENCODE' }, ports);
}

/** Whether a row stays in the spool: the object store does not take what it refers to, or it waits behind another row. */
function stays(error: unknown, observer: DrainObserver): boolean {
  if (isForObjectStore(error)) observer.notTaken?.(error);
  return isForObjectStore(error) || error instanceof RowSkipped;
}

/** Tries until it succeeds or the process stops. */
export function persist<T>({ clock, stopping, observer }: DrainPorts, work: () => Promise<T>): Promise<T> {
  const again = (error: unknown) => !hasCode(error, 'PUBLISHER_CLOSED');
  const onFailure = (error: unknown) => {
    if (again(error)) observer.drainFailed(error);
  };
  return retry(work, { backoff: RETRY, signal: stopping, again, onFailure, clock });
}
