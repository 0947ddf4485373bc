import { rmSync } from 'node:fs';
import type { RecordReader } from '../../avro/record-reader.ts';
import { topicsToSearch } from '../../cli/inspect/search-topics.ts';
import type { Mask } from '../../cli/shell/mask.ts';
import type { KafkaAccess } from '../../kafka/open-kafka.ts';
import { boundedTopics } from '../index/bounded-kafka.ts';
import { IndexFile, temporaryIndexDir } from '../index/index-file.ts';
import { OpenTopics } from '../index/open-topics.ts';
import { RecordIndex, type TopicCoverage } from '../index/record-index.ts';
import type { Turns } from '../index/turns.ts';
import { findStory, type Story } from './find-story.ts';
import { Scan, type ScanState } from './scan.ts';

export type OpenFindDeps = {
  readonly kafka: KafkaAccess;
  readonly turns: Turns;
  readonly prefix: string;
  /** Full names. */
  readonly commandTopics: readonly string[];
  readonly read: RecordReader;
  /** Where the index is kept; unset, a temporary directory that is removed at the stop, so that it begins anew. */
  readonly indexDir: string | undefined;
  readonly indexMaxBytes: number;
  readonly onFailure: (topic: string | null, error: Error) => void;
};

/** What answers a search. */
export type Find = {
  story(wanted: string, mask: Mask): Promise<Story>;
  /** Reads what the index does not hold. @param by the user */
  scan(wanted: string, by: string): ScanState;
  coverage(): Pick<Story, 'coverage' | 'failure'>;
  /** Another text than before when there may be more to tell. */
  stateOf(wanted: string): string;
  stop(): Promise<void>;
};

/** What must change before a page is made anew. Partitions that are read to their end are left out: their offsets grow all the time. */
const progressOf = ({ partitions, failure }: TopicCoverage) => {
  const behind = partitions.filter(({ next, end }) => next < end);
  return [failure, partitions.length, behind.map(({ next }) => next)];
};

/** Opens the index, and begins to fill it. */
export function openFind(deps: OpenFindDeps): Find {
  const { kafka, turns, prefix, commandTopics, read, indexMaxBytes: maxBytes, onFailure } = deps;
  const dir = deps.indexDir ?? temporaryIndexDir();
  const { clock } = kafka;
  const topicsFor = (urgency: 'search' | 'index' | 'scan') => boundedTopics(kafka, turns, urgency);
  const file = new IndexFile(dir, maxBytes);
  const index = new RecordIndex({
    file,
    clock,
    read,
    maxBytes,
    onFailure,
    openTopic: topicsFor('index'),
    topics: () => topicsToSearch(kafka, prefix, commandTopics),
  });
  const records = new OpenTopics({ openTopic: topicsFor('search'), clock });
  const scanned = new OpenTopics({ openTopic: topicsFor('scan'), clock });
  const scan = new Scan({ index, read, records: scanned });
  let stopped: Promise<void> | undefined;
  const stop = async () => {
    await Promise.all([scanned.stop(), records.stop()]);
    await scan.stop();
    await index.stop();
    file[Symbol.dispose]();
    if (deps.indexDir === undefined) rmSync(dir, { recursive: true, force: true });
  };
  return {
    story: (wanted, mask) => turns.page(() => findStory({ index, records, scan, read }, wanted, mask)),
    scan: (wanted, by) => scan.start(wanted, by),
    coverage: () => ({ coverage: index.coverage(), failure: index.failure }),
    stateOf: (wanted) =>
      JSON.stringify([
        wanted === '' ? null : index.find(wanted, 1),
        scan.of(wanted)?.state,
        index.coverage().map(progressOf),
        index.failure,
      ]),
    stop: () => (stopped ??= stop()),
  };
}
