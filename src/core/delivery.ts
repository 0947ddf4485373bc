/**
 * The states of one webhook. Each is a type of its own, and only the function that proves it makes the next:
 * Delivery → VerifiedDelivery → OpenedMessage → Event.
 */
declare const proof: unique symbol;

/** A body as it arrived, in one piece, with what is needed to judge it. Nothing of it is believed yet. */
export type Delivery = {
  readonly ref: string;
  readonly mediaType: 'json' | 'octet-stream';
  readonly body: Buffer;
  /** Milliseconds since 1970, when the body had arrived whole. */
  readonly receivedAt: number;
  /** W3C trace context of the request, where it had one. */
  readonly traceparent: string | undefined;
};

/** A delivery as it was stored, with the subscription that it names. */
export type StoredDelivery = Delivery & { readonly subscriptionId: string };

/** Its signature was made with a live key of its ref: from here on it is known to be the provider's. */
export type VerifiedDelivery = Delivery & {
  /** The 36 characters of the key that matched. */
  readonly subscriptionId: string;
  readonly [proof]: 'verified';
};

/** Its plain message, decrypted where it was sealed: what the event id is made of, and the record's `source`. */
export type OpenedMessage = VerifiedDelivery & {
  readonly message: Buffer;
  readonly [proof]: 'verified';
  readonly opened: true;
};

/** Where an accepted event is, for the answer: `{"eventId","stored"}`. */
export type Receipt = { readonly eventId: string; readonly stored: 'kafka' | 'spool' };

/** The event that a delivery becomes, as far as its bytes decide it. */
export type DeliveryIdentity = {
  readonly eventId: string;
  /** The topic and the key of its record: the same for all deliveries whose order counts. */
  readonly order: string;
};

/** Called by the check of the signature alone (delivery/accept-delivery.ts); a test holds that. */
export function markVerified(delivery: Delivery, subscriptionId: string): VerifiedDelivery {
  return { ...delivery, subscriptionId } as VerifiedDelivery;
}

/** For what was verified before it was stored or sent on: from the spool, a dead-letter record, or another thread. */
export const restoreVerified = (stored: StoredDelivery): VerifiedDelivery =>
  markVerified(stored, stored.subscriptionId);

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
export type LargeBodyPublisher = {
  /**
   * As `publishDelivery`; `deadlineMs` is asked for the time until the brokers' confirmation when its turn comes; what
   * that throws is thrown, and nothing is stored.
   * @throws HooklineError what `publishDelivery` throws, and LARGE_BODY_FAILED: the thread ended
   */
  store(delivery: VerifiedDelivery, deadlineMs: () => number): Promise<Receipt>;
  /**
   * The same for one that comes from the spool: it waits for the brokers as long as it takes, and meanwhile holds up none of
   * those that come from outside.
   */
  drain(delivery: VerifiedDelivery): Promise<Receipt>;
  /** The result of `identifyDelivery`. @throws HooklineError LARGE_BODY_FAILED */
  identify(delivery: VerifiedDelivery): Promise<DeliveryIdentity>;
  /** Does `work`, which needs as much memory as a body that is worked on, in the place of one. */
  aside<T>(work: () => Promise<T>): Promise<T>;
};
