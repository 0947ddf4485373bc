import type { ListedObject } from '../../object-store/object-store.ts';
import type { BodyStoreAddress } from '../../object-store/settings.ts';
import type { Listing } from './compare-objects.ts';
import type { References } from './read-references.ts';

/** Objects below the prefix that no record refers to which was read. */
export type Unreferenced = {
  /** Of topics that were read: nothing needs them. */
  readonly orphans: readonly ListedObject[];
  /** How many are in other folders, by folder: their records were not read, such as those of another TOPIC_PREFIX. */
  readonly others: ReadonlyMap<string, number>;
};

/** @param topics full names of those whose records were read: each has a folder of its own below the prefix */
export function findUnreferenced(
  listing: Listing,
  references: References,
  { prefix }: BodyStoreAddress,
  topics: readonly string[],
): Unreferenced {
  const own = new Set(topics);
  const orphans: ListedObject[] = [];
  const others = new Map<string, number>();
  for (const [uri, object] of listing) {
    if (references.has(uri)) continue;
    const path = object.key.slice(prefix === '' ? 0 : prefix.length + 1);
    const [folder = ''] = path.split('/', 1);
    if (own.has(folder) && folder !== path) orphans.push(object);
    else others.set(folder === path ? '' : folder, (others.get(folder === path ? '' : folder) ?? 0) + 1);
  }
  return { orphans, others };
}

/** Longer than an event takes from its object to its record, and than clocks differ. */
const YOUNG_MS = 10 * 60_000;

export function describeOrphans(orphans: readonly ListedObject[], startedAt: number): string {
  const bytes = orphans.reduce((sum, object) => sum + object.bytes, 0);
  const young = orphans.filter(({ modifiedAt }) => modifiedAt.getTime() > startedAt - YOUNG_MS).length;
  const harmless = `${orphans.length} that no record refers to (${bytes} bytes): harmless, a lifecycle rule may delete them`;
  return young === 0
    ? harmless
    : `${harmless}; ${young} of them are younger than 10 minutes, and their records may still come`;
}

/** Folders that are named. */
const NAMED = 10;

/** Null where there are none. */
export function describeOthers(others: Unreferenced['others']): string | null {
  if (others.size === 0) return null;
  const count = [...others.values()].reduce((sum, one) => sum + one, 0);
  const named = [...others].slice(0, NAMED).map(([folder, of]) => `${of} in ${folder || 'no folder'}`);
  const more = others.size > NAMED ? `, and ${others.size - NAMED} more folders` : '';
  return `${count} objects are of topics that were not read, and records may refer to them: keep them. They are of another TOPIC_PREFIX, or of event types whose schema file is gone: ${named.join(', ')}${more}.`;
}
