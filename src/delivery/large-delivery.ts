import type { Delivery, Receipt, VerifiedDelivery } from '../core/delivery.ts';
import type { HooklineError } from '../core/errors.ts';

/**
 * Bodies over it are opened and encoded in threads of their own: 50 MB of JSON hold a thread up for half a
 * second. Up to it that costs a few milliseconds, less than what the crossing to another thread is worth.
 */
export const LARGE_BODY_BYTES = 1024 * 1024;

export const isLarge = ({ body }: Pick<Delivery, 'body'>): boolean => body.length > LARGE_BODY_BYTES;

/**
 * Takes large deliveries behind the signature. A body changes hands: after the call the caller's `delivery` holds no
 * bytes any more, and where it isn't stored it comes back in the outcome.
 */
export type LargeCarrier = {
  /**
   * The way of `storeDelivery`, with as long for the brokers' confirmation as `deadlineMs` says when its turn comes;
   * null means that it isn't to be stored any more.
   * @throws HooklineError LARGE_BODY_FAILED: the thread ended, and the body with it
   */
  store(delivery: VerifiedDelivery, deadlineMs: () => number | null): Promise<LargeOutcome>;
  /** What `deliveryIdOf` tells. @throws HooklineError LARGE_BODY_FAILED */
  identify(delivery: VerifiedDelivery): Promise<{ eventId: string; delivery: VerifiedDelivery }>;
};

export type LargeOutcome =
  | { readonly receipt: Receipt }
  /** `error` is null where it was not to be stored any more. */
  | { readonly error: HooklineError | null; readonly delivery: VerifiedDelivery };
