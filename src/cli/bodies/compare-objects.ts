import { hasCode } from '../../core/errors.ts';
import type { ObjectReference } from '../../core/record.ts';
import { askAgain } from '../../object-store/ask-again.ts';
import type { BodyStore } from '../../object-store/body-store.ts';
import { type ListedObject, ObjectStoreFault } from '../../object-store/object-store.ts';
import { isArchived } from '../../object-store/s3-faults.ts';
import type { References } from './read-references.ts';
import type { Unchecked } from './unchecked.ts';

export type Row = {
  /** Archived: it is there, and cannot be read before it is restored. */
  readonly finding: 'missing' | 'changed' | 'archived';
  readonly object: string;
  readonly bytes: number;
  readonly record: string;
};

/** By address. */
export type Listing = ReadonlyMap<string, ListedObject>;

/** The messages and bodies below the prefix of BODY_STORE, without the objects by which the store is tried. */
export async function listObjects({ store, address }: BodyStore, signal: AbortSignal): Promise<Listing> {
  const { bucket, prefix } = address;
  const found = new Map<string, ListedObject>();
  for await (const object of store.list(prefix === '' ? '' : `${prefix}/`, signal)) {
    const { key } = object;
    if (/\.(json|bin)$/.test(key) && !/(^|\/)hookline-(check|doctor)[^/]*$/.test(key))
      found.set(`s3://${bucket}/${key}`, object);
  }
  return found;
}

export type CompareDeps = {
  readonly bodies: BodyStore;
  /** Made before the records were read. */
  readonly listing: Listing;
  /** Whether every object is read. */
  readonly verify: boolean;
  /** Gets each object of which it is not known whether it is there, or unchanged. */
  readonly unchecked: Unchecked;
  readonly signal: AbortSignal;
};

export type Comparison = {
  readonly rows: readonly Row[];
  /** References to other buckets than that of BODY_STORE, by bucket: they are not checked. */
  readonly elsewhere: ReadonlyMap<string, number>;
};

/** Requests for single objects at a time; of objects that are read one, as each can have 95 MB. */
const CONCURRENCY = 8;

/**
 * Finds the objects that are missing, changed or archived. What the listing does not have is asked for by itself: it is below an earlier prefix
 * of BODY_STORE, or younger than the listing, or missing.
 */
export async function compareObjects(references: References, deps: CompareDeps): Promise<Comparison> {
  const { bodies, verify, signal } = deps;
  const own = `s3://${bodies.address.bucket}/`;
  const elsewhere = new Map<string, number>();
  const here = [...references.values()].filter(({ reference: { uri } }) => {
    const [bucket = ''] = /^(?:s3:\/\/)?[^/]*/.exec(uri) ?? [];
    if (!uri.startsWith(own)) elsewhere.set(bucket, (elsewhere.get(bucket) ?? 0) + 1);
    return uri.startsWith(own);
  });
  const findingOf = createJudge(deps);
  const rows = await mapSome(here, verify ? 1 : CONCURRENCY, async ({ reference, at }) => {
    signal.throwIfAborted();
    const finding = await findingOf(reference);
    return finding && { finding, object: reference.uri, bytes: reference.bytes, record: at };
  });
  return { rows: rows.filter((row) => row !== null), elsewhere };
}

/** What is wrong with an object; null where nothing is, or it could not be checked. */
function createJudge({ bodies, listing, verify, unchecked, signal }: CompareDeps) {
  let unavailable: unknown;
  const find = async (reference: ObjectReference): Promise<Row['finding'] | null> => {
    // It was asked for half a minute: what follows would wait as long, each.
    if (unavailable) throw unavailable;
    const ask = (within: AbortSignal) => bodies.store.describe(bodies.keyOf(reference.uri), within);
    const present: { bytes: number; sha256?: string | undefined; archive?: string } | null =
      listing.get(reference.uri) ?? (await askAgain(ask, signal));
    if (!present) return 'missing';
    const { bytes, sha256 = reference.sha256 } = present;
    if (bytes !== reference.bytes || sha256 !== reference.sha256) return 'changed';
    // One that was restored for some days can be read.
    if (verify) await bodies.read(reference);
    else if (present.archive !== undefined) return 'archived';
    return null;
  };
  return async (reference: ObjectReference): Promise<Row['finding'] | null> => {
    try {
      return await find(reference);
    } catch (error) {
      if (hasCode(error, 'OBJECT_MISSING')) return 'missing';
      if (hasCode(error, 'OBJECT_CHANGED')) return 'changed';
      if (isArchived(error)) return 'archived';
      const isOfStore = error instanceof ObjectStoreFault;
      if (!isOfStore && !hasCode(error, 'BODY_STORE_UNAVAILABLE', 'BODY_STORE_REFUSED')) throw error;
      if (isOfStore ? error.kind === 'unavailable' : hasCode(error, 'BODY_STORE_UNAVAILABLE'))
        unavailable = error;
      unchecked.add(reference.uri, error);
      return null;
    }
  };
}

/** The results in the order of the items, some at a time. */
async function mapSome<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const entries = items.entries();
  const takeAll = async () => {
    for (const [n, item] of entries) results[n] = await work(item);
  };
  await Promise.all(Array.from({ length: limit }, takeAll));
  return results;
}
