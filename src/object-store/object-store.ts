/** What an object is created with. */
export type NewObject = {
  readonly bytes: Buffer;
  /** Of the bytes: 64 lower-case hexadecimal digits. */
  readonly sha256: string;
  readonly contentType: string;
};

/** An object as the store lists it. */
export type ListedObject = { readonly key: string; readonly bytes: number; readonly modifiedAt: Date };

/** A rule by which the store deletes objects. */
export type ExpiryRule = {
  /** Its name; empty where it has none. */
  readonly id: string;
  /** Of the keys that it deletes; empty for all. */
  readonly prefix: string;
} & (
  | /** Since an object was created. */
  { readonly days: number }
  /** From this time on it deletes every object, new ones too. */
  | { readonly from: Date }
);

/**
 * An object store, as far as Hookline uses it. Every call ends with its signal, and rejects with an {@link ObjectStoreFault}.
 */
export type ObjectStore = {
  /** Creates the object; 'exists', and changes nothing, where there is one of that name. */
  create(key: string, object: NewObject, signal: AbortSignal): Promise<'created' | 'exists'>;
  /** Size and SHA-256 of an object; the hash is undefined where the store does not know it. Null where there is none. */
  describe(
    key: string,
    signal: AbortSignal,
  ): Promise<{ readonly bytes: number; readonly sha256: string | undefined } | null>;
  /** The object's bytes; null where there is none. Rejects where it has more than `maxBytes`. */
  read(key: string, maxBytes: number, signal: AbortSignal): Promise<Buffer | null>;
  /** All objects whose key begins with the prefix, in the order of their keys. Asks again for a page while it is unavailable. */
  list(prefix: string, signal: AbortSignal): AsyncIterable<ListedObject>;
  remove(key: string, signal: AbortSignal): Promise<void>;
  /** The rules of the bucket that delete objects; none where it has none. */
  expiryRules(signal: AbortSignal): Promise<readonly ExpiryRule[]>;
  close(): void;
};

/**
 * How a call to the store failed:
 * - `unavailable`: no answer in time, or one that says so; the object may have been created
 * - `refused`: an answer that stays the same until somebody changes rights, settings or credentials
 */
export class ObjectStoreFault extends Error {
  readonly kind: 'unavailable' | 'refused';
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
