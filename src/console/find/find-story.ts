import type { RecordReader } from '../../avro/record-reader.ts';
import { describers } from '../../cli/inspect/describe-record.ts';
import { DEFAULT_LIMIT, describeAt, type Found, inOrder } from '../../cli/inspect/search-topics.ts';
import type { Mask } from '../../cli/shell/mask.ts';
import { type IncomingRecord, positionText, recordName } from '../../core/record.ts';
import type { OpenTopics, RecordPosition } from '../index/open-topics.ts';
import type { RecordIndex, TopicCoverage } from '../index/record-index.ts';
import { MAX_COUNT } from '../index/segments.ts';
import { type Scan, type ScanState, unsearchedOf } from './scan.ts';
import { type StoryLine, tellStory } from './tell-story.ts';

export type FindDeps = {
  readonly index: Pick<RecordIndex, 'find' | 'kindOf' | 'coverage' | 'failure'>;
  readonly records: Pick<OpenTopics, 'read'>;
  readonly scan: Pick<Scan, 'of'>;
  readonly read: RecordReader;
};

export type Story = {
  readonly wanted: string;
  readonly lines: readonly StoryLine[];
  /** By topic, records about it that are not shown, as they are before the latest ones; `atLeast` where not all were counted. */
  readonly earlier: readonly { readonly topic: string; readonly count: number; readonly atLeast: boolean }[];
  readonly coverage: readonly TopicCoverage[];
  /** Why nothing is indexed, where no topic is known. */
  readonly failure: string | null;
  /** The search of what is not indexed, where there is or was one. */
  readonly scan: ScanState | null;
  /** Offsets that are not indexed, and that no such search has read to its end. */
  readonly unsearched: number;
};

/** The story of an event id, an entity, a ref or a command id, as far as the index and a scan know it. */
export async function findStory(deps: FindDeps, wanted: string, mask: Mask): Promise<Story> {
  const { index } = deps;
  const hits = index.find(wanted, DEFAULT_LIMIT);
  const scan = deps.scan.of(wanted);
  // Now: it may find more while records are read.
  const state = scan?.state ?? null;
  const scanned = [...Map.groupBy(scan?.found ?? [], ({ topic }) => topic)].map(([topic, positions]) => ({
    topic,
    latest: positions.map((position) => ({ ...position, isLate: false })),
  }));
  const found = (
    await Promise.all([...hits, ...scanned].map((of) => readHits(deps, of, wanted, mask)))
  ).flat();
  const replays = await findReplays(deps, found, mask);
  const earlier = hits.flatMap(({ topic, count, latest }) =>
    count > latest.length ? [{ topic, count: count - latest.length, atLeast: count >= MAX_COUNT }] : [],
  );
  const lines = tellStory(inOrder(onlyOnce(found)), replays);
  const coverage = index.coverage();
  const unsearched = unsearchedOf(coverage, (state?.status === 'done' && scan?.indexed) || []);
  return { wanted, lines, earlier, coverage, failure: index.failure, scan: state, unsearched };
}

type Positions = {
  readonly topic: string;
  readonly latest: readonly (RecordPosition & { readonly isLate: boolean })[];
};

/** The records of these positions that are about it: others share its hash, or are no more. */
async function readHits(
  { index, records, read }: FindDeps,
  { topic, latest }: Positions,
  wanted: string,
  mask: Mask,
): Promise<Found[]> {
  const kind = index.kindOf(topic);
  if (!kind) return [];
  const late = new Set(latest.filter(({ isLate }) => isLate).map(positionText));
  const verdictOf = (record: IncomingRecord) => (late.has(positionText(record)) ? 'fenced' : 'counts');
  const describe = describers(read, mask, verdictOf)[kind];
  const found = await Promise.all(
    (await records.read(topic, latest)).map((record) => describeAt(record, wanted, describe)),
  );
  return found.filter((one) => one !== null);
}

/**
 * Commands that may have caused a repeat: replays of the event's ref. A command names runs of the provider, which events
 * do not, so that none can be told to be the one.
 */
async function findReplays(deps: FindDeps, found: readonly Found[], mask: Mask): Promise<Found[]> {
  const events = new Set(found.map(({ eventId }) => eventId).filter((id) => id !== undefined));
  const refs = new Set(found.map(({ ref }) => ref).filter((ref) => ref !== undefined));
  // Of a ref or an entity with many events each command would fit something.
  const [ref] = refs;
  if (events.size !== 1 || refs.size !== 1 || ref === undefined || found.length < 2) return [];
  const commands = deps.index
    .find(ref, DEFAULT_LIMIT)
    .filter(({ topic }) => deps.index.kindOf(topic) === 'command');
  const described = await Promise.all(commands.map((hits) => readHits(deps, hits, ref, mask)));
  return described.flat().filter(({ step }) => step === 'replay requested');
}

/** What a scan has read may have been indexed since. */
const onlyOnce = (found: readonly Found[]) => [
  ...new Map(found.map((one) => [recordName(one), one])).values(),
];
