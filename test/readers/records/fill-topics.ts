import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SUBSCRIPTION } from '../../bench/load/bodies.ts';
import { useStack } from '../../stack/use-stack.ts';
import { startS3Mock } from '../../support/object-store/s3-bucket.ts';
import { readTopic } from '../../support/topic-reader.ts';
import type { Fixture } from '../../support/topics-fixture.ts';
import { type ExpectedRecord, expectedRecord, writeRecords } from './record-list.ts';
import { type Sent, sendRecords } from './send-records.ts';

/** Where the readers find what was sent. */
export type RecordsPlace = {
  readonly brokers: string;
  readonly registryUrl: string;
  readonly storeEndpoint: string;
  /** The topics that are read, and their number of records. */
  readonly topics: Readonly<Record<string, number>>;
  /** What must be found: see readRecords. */
  readonly file: string;
};

const READ_MS = 120_000;

/** Kafka, a registry, an object store, and in them records of every topic and version; all end with `running`. */
export async function fillTopics(
  running: AsyncDisposableStack,
  onProgress: (line: string) => void,
): Promise<RecordsPlace> {
  const stack = running.use(await useStack({ env: process.env, shortLived: true, onProgress }));
  const store = running.use(await startS3Mock());
  const fixtures: Fixture[] = [];
  running.defer(async () => {
    for (const fixture of fixtures) await fixture[Symbol.asyncDispose]();
  });
  const dir = mkdtempSync(join(tmpdir(), 'hookline-readers-'));
  running.defer(() => rmSync(dir, { recursive: true, force: true }));
  const start = performance.now();
  const sent = await sendRecords(stack, store, fixtures);
  const file = join(dir, 'records.jsonl');
  const records = await expectedRecords(fixtures[0] as Fixture, sent);
  await writeRecords(file, records);
  onProgress(`${records.length} records sent in ${((performance.now() - start) / 1_000).toFixed(0)} s`);
  const topics = Object.groupBy(records, ({ fullTopic }) => fullTopic);
  return {
    brokers: stack.brokers.join(','),
    registryUrl: stack.registryUrl,
    storeEndpoint: store.endpoint,
    topics: Object.fromEntries(Object.entries(topics).map(([topic, some]) => [topic, some?.length ?? 0])),
    file,
  };
}

/** Joins what was sent with the headers of its records. */
async function expectedRecords({ env }: Fixture, sent: readonly Sent[]): Promise<ExpectedRecord[]> {
  const records: ExpectedRecord[] = [];
  for (const [topic, some] of Map.groupBy(sent, ({ fullTopic }) => fullTopic)) {
    const seen = await readTopic(env, topic, some.length, { values: 'raw', deadlineMs: READ_MS });
    if (seen.length !== some.length) throw new Error(`${topic} holds ${seen.length}, not ${some.length}`);
    for (const one of some) {
      const found = seen.find(({ key }) => key === one.entityId);
      if (!found) throw new Error(`${topic} has no record for ${one.entityId}`);
      records.push(expectedRecord(one, found, SUBSCRIPTION.ref));
    }
  }
  return records;
}
