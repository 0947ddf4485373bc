import type { ReadRecord } from './programs/run-program.ts';
import type { Reader } from './readers.ts';
import type { ExpectedRecord, Fields } from './records/record-list.ts';

const idOf = (topic: string, key: string | null) => `${topic} ${key}`;

export const byId = (records: readonly ReadRecord[]): ReadonlyMap<string, ReadRecord> =>
  new Map(records.map((record) => [idOf(record.topic, record.key), record]));

/** How what was read differs from what was sent. */
export function faultsOf(
  { view, fetches }: Reader,
  { fullTopic, key, value, raw }: ExpectedRecord,
  found: ReadonlyMap<string, ReadRecord>,
): string[] {
  const record = found.get(idOf(fullTopic, key));
  if (!record) return [`${fullTopic} ${key}: no record`];
  const differences = [
    view === 'columns'
      ? firstDifference(asColumns(record.value ?? {}), asColumns(value))
      : firstDifference(record.value, value),
    view === 'bytes' ? firstDifference(record.raw, raw, 'raw') : null,
    fetches ? firstDifference(record.object ?? null, objectOf(value), 'object') : null,
  ];
  return differences.flatMap((difference) => (difference ? [`${key}: ${difference}`] : []));
}

/** What the object holds that a record refers to. */
function objectOf({ sourceRef }: Fields): Fields | null {
  if (!sourceRef) return null;
  const { bytes, sha256 } = sourceRef as { bytes: number; sha256: string };
  return { bytes, sha256 };
}

/** Fields that only some versions have: null in a table that has a column for each. */
const asColumns = (value: Fields): Fields => ({ sourceRef: null, reason: null, ...value });

/** Where two values differ first, in words; null where they don't. `toEqual` would print 50 MB of it. */
export function firstDifference(is: unknown, should: unknown, path = ''): string | null {
  if (Object.is(is, should)) return null;
  const bothObjects = typeof is === 'object' && is !== null && typeof should === 'object' && should !== null;
  if (!bothObjects || Array.isArray(is) !== Array.isArray(should))
    return `${path} is ${short(is)}, not ${short(should)}`;
  const names = new Set([...Object.keys(should), ...Object.keys(is)]);
  for (const name of names) {
    if (!Object.hasOwn(is, name)) return `${path}/${name} is missing`;
    if (!Object.hasOwn(should, name)) return `${path}/${name} is too much`;
    const difference = firstDifference(is[name as never], should[name as never], `${path}/${name}`);
    if (difference) return difference;
  }
  return null;
}

const short = (value: unknown) => JSON.stringify(value)?.slice(0, 120);
