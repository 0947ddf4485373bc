import type { Delivery, Receipt, VerifiedDelivery } from './delivery.ts';

/**
 * Bodies over it are opened and encoded in a thread of their own: 50 MB of JSON hold a thread up for half a second. Up to
 * it that costs a few milliseconds, less than what the crossing to another thread is worth.
 */
export const LARGE_BODY_BYTES = 1024 * 1024;

export const isLarge = ({ body }: Pick<Delivery, 'body'>): boolean => body.length > LARGE_BODY_BYTES;

/**
 * Takes large deliveries behind the signature. The body stays the caller's, who leaves it as it is until the call has
 * ended; after that nobody reads it any more.
 */
export type LargeCarrier = {
  /**
   * The way of `storeDelivery`, with as long for the brokers' confirmation as `deadlineMs` says when its turn comes; what
   * that throws is thrown, and nothing is stored.
   * @throws HooklineError what `storeDelivery` throws, and LARGE_BODY_FAILED: the thread ended
   */
  store(delivery: VerifiedDelivery, deadlineMs: () => number): Promise<Receipt>;
  /** What `deliveryIdOf` tells. @throws HooklineError LARGE_BODY_FAILED */
  identify(delivery: VerifiedDelivery): Promise<string>;
};
