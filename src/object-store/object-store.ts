import type { Backoff } from '../runtime/retry.ts';

/** What an object is created with. */
export type NewObject = {
  readonly bytes: Buffer;
  /** Of the bytes: 64 lower-case hexadecimal digits. */
  readonly sha256: string;
  readonly contentType: string;
};

/**
 * How the store answered a write: as S3 does, or with a success that does not show that something was stored. A captive
 * portal or a proxy answers 200 to everything.
 */
export type WriteAnswer = 'created' | 'unconfirmed';

/** An object as the store lists it. */
export type ListedObject = {
  readonly key: string;
  readonly bytes: number;
  readonly modifiedAt: Date;
  /** The storage class of an object that cannot be read before it is restored. */
  readonly archive?: string;
};

/** A rule by which the store deletes objects, or moves them where they cannot be read. */
export type ExpiryRule = {
  /** Its name; empty where it has none. */
  readonly id: string;
  /** Of the keys that it deletes; empty for all. */
  readonly prefix: string;
  /** The storage class that it moves objects to: they cannot be read before they are restored. Without it the rule deletes them. */
  readonly archive?: string;
} & (
  | /** Since an object was created. */
  { readonly days: number }
  /** From this time on it deletes or moves every object, new ones too. */
  | { readonly from: Date }
);

/**
 * An object store, as far as Hookline uses it. Every call ends with its signal, and rejects with an {@link ObjectStoreFault}.
 */
export type ObjectStore = {
  /** Creates the object; 'exists', and changes nothing, where there is one of that name. */
  create(key: string, object: NewObject, signal: AbortSignal): Promise<WriteAnswer | 'exists'>;
  /** Writes the object, also where there is one of that name. */
  replace(key: string, object: NewObject, signal: AbortSignal): Promise<WriteAnswer>;
  /** Size and SHA-256 of an object; the hash is undefined where the store has not computed it. Null where there is none. */
  describe(
    key: string,
    signal: AbortSignal,
  ): Promise<{ readonly bytes: number; readonly sha256: string | undefined } | null>;
  /** The object's bytes; null where there is none, 'larger' where it has more than `maxBytes`. */
  read(key: string, maxBytes: number, signal: AbortSignal): Promise<Buffer | 'larger' | null>;
  /** SHA-256 of the object's bytes, which are read for it and not kept; null where there is none, or a larger one. */
  hash(key: string, maxBytes: number, signal: AbortSignal): Promise<string | null>;
  /** All objects whose key begins with the prefix, in the order of their keys. Asks again for a page while it is unavailable. */
  list(prefix: string, signal: AbortSignal): AsyncIterable<ListedObject>;
  remove(key: string, signal: AbortSignal): Promise<void>;
  /** The rules of the bucket that delete or archive objects; none where it has none. */
  expiryRules(signal: AbortSignal): Promise<readonly ExpiryRule[]>;
  close(): void;
};

/** Before a store that was unavailable is asked again: 0.2, 0.4, 0.8, 1.6, 2, 2 … s, each shortened by up to a quarter, until the deadline. */
export const STORE_BACKOFF: Backoff = { firstMs: 200, factor: 2, maxMs: 2_000 };

/**
 * How a call to the store failed:
 * - `unavailable`: no answer in time, or one that says so; the object may have been created
 * - `refused`: an answer that stays the same until somebody changes rights, settings, credentials or space
 * - `object_refused`: the same, for this object alone, such as one above the store's limit; others may be taken
 */
export class ObjectStoreFault extends Error {
  readonly kind: 'unavailable' | 'refused' | 'object_refused';
  /** What an operator does about it, where that is known. */
  readonly remedy: string | undefined;
  constructor(
    kind: ObjectStoreFault['kind'],
    message: string,
    options: { cause?: unknown; remedy?: string } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'ObjectStoreFault';
    this.kind = kind;
    this.remedy = options.remedy;
  }
}
