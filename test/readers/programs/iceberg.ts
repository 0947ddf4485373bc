import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePorts } from '../../stack/plan-ports.ts';
import { createTopic } from '../../support/create-topic.ts';
import { asAdmin } from '../../support/topic-reader.ts';
import type { RecordsPlace } from '../records/fill-topics.ts';
import type { Fields } from '../records/record-list.ts';
import { CONNECT, javaProgram } from './java.ts';
import { type Program, type ReadRecord, runReader } from './run-program.ts';

const WORKER = 'org.apache.kafka.connect.cli.ConnectStandalone';
/** Between two commits of the sink. */
const COMMIT_MS = 5_000;
/** Until the log has the causes of an error. */
const CAUSES_MS = 1_000;

/** Kafka Connect with Iceberg's sink fills a table for each topic; the rows of the tables are read here. */
export async function readWithIceberg(
  place: RecordsPlace,
  otherSettings: Settings = {},
): Promise<ReadRecord[]> {
  const run = randomUUID();
  const dir = mkdtempSync(join(tmpdir(), 'hookline-iceberg-'));
  const warehouse = join(dir, 'warehouse');
  mkdirSync(warehouse);
  const topics = Object.keys(place.topics);
  const files = [
    writeProperties(join(dir, 'worker.properties'), await workerSettings(place, dir)),
    ...topics.map((topic) =>
      writeProperties(join(dir, `${topic}.properties`), {
        ...sinkSettings(place, topic, warehouse, run),
        ...otherSettings,
      }),
    ),
  ];
  await createControlTopics(place, topics, run);
  const stopped = new AbortController();
  const worker = start(await javaProgram(CONNECT, WORKER, files));
  try {
    const wanted = topics.map((topic) => `${tableOf(topic)}=${place.topics[topic]}`);
    const reader = await javaProgram(CONNECT, 'readers.ReadIcebergTables', [warehouse, ...wanted]);
    const reading = runReader(reader, place, {}, stopped.signal);
    const rows = (await Promise.race([reading, worker.failed])) as unknown as Row[];
    const topicOf = new Map(topics.map((topic) => [tableOf(topic), topic]));
    return rows.map(({ table, value }) => ({
      topic: String(topicOf.get(table)),
      key: String(value.entityId),
      value,
    }));
  } finally {
    stopped.abort();
    await worker.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

type Settings = Readonly<Record<string, string>>;
type Row = { table: string; value: Fields };

const tableOf = (topic: string) => `events.${topic.replaceAll(/[.-]/g, '_')}`;
const controlTopicOf = (topic: string, run: string) => `${topic}-iceberg-${run}`;

const workerSettings = async ({ brokers, registryUrl }: RecordsPlace, dir: string): Promise<Settings> => ({
  'bootstrap.servers': brokers,
  // A minute by default, in which the sink hands over what it wrote: only a matter of waiting.
  'offset.flush.interval.ms': String(COMMIT_MS),
  'offset.storage.file.filename': join(dir, 'offsets'),
  listeners: `http://127.0.0.1:${(await freePorts(1))[0]}`,
  'key.converter': 'org.apache.kafka.connect.storage.StringConverter',
  'value.converter': 'io.apicurio.registry.utils.converter.AvroConverter',
  'value.converter.apicurio.registry.url': registryUrl.replace('/apis/ccompat/v7', '/apis/registry/v2'),
  // Ids of four bytes, as in Confluent's wire format; its own form has eight.
  'value.converter.apicurio.registry.as-confluent': 'true',
  'value.converter.apicurio.registry.use-id': 'contentId',
});

const sinkSettings = (
  { brokers }: RecordsPlace,
  topic: string,
  warehouse: string,
  run: string,
): Settings => ({
  // A sink continues where one of its name has stopped.
  name: `iceberg-${topic}-${run}`,
  'connector.class': 'org.apache.iceberg.connect.IcebergSinkConnector',
  'tasks.max': '1',
  topics: topic,
  'iceberg.catalog.type': 'hadoop',
  'iceberg.catalog.warehouse': warehouse,
  'iceberg.tables': tableOf(topic),
  'iceberg.tables.auto-create-enabled': 'true',
  // A version of the schema that has a new field adds its column.
  'iceberg.tables.evolve-schema-enabled': 'true',
  // A table that begins with a record of 1.0 has list items that cannot be null, as they can be in records of 0.1: the sink
  // adds columns to a table, but does not make a list's items optional.
  'iceberg.tables.schema-force-optional': 'true',
  'iceberg.control.topic': controlTopicOf(topic, run),
  'iceberg.kafka.bootstrap.servers': brokers,
  // Five minutes by default, which is only a matter of waiting.
  'iceberg.control.commit.interval-ms': String(COMMIT_MS),
});

function writeProperties(file: string, settings: Settings): string {
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(file, lines.join(''));
  return file;
}

async function createControlTopics(
  place: RecordsPlace,
  topics: readonly string[],
  run: string,
): Promise<void> {
  await asAdmin({ KAFKA_BROKERS: place.brokers }, async (admin) => {
    for (const topic of topics)
      await createTopic(admin, { topic: controlTopicOf(topic, run), numPartitions: 1, replicationFactor: 1 });
  });
}

function start({ command, args }: Program) {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  // A task that fails leaves the worker running: its errors say why.
  const errors: string[] = [];
  const { promise: failed, reject } = Promise.withResolvers<never>();
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (/ ERROR |^Caused by: /.test(line)) errors.push(line.slice(0, 500));
    if (/Task is being killed/.test(line)) setTimeout(() => reject(failure('A task failed')), CAUSES_MS);
  });
  const failure = (what: string) => new Error(`${what}: ${errors.slice(-10).join('\n')}`);
  const closed = once(child, 'close').then(() => reject(failure('Kafka Connect has ended')));
  failed.catch(() => {});
  return {
    /** Rejects where the worker ends, or one of its tasks fails. */
    failed,
    async stop(): Promise<void> {
      child.kill('SIGKILL');
      await closed;
    },
  };
}
