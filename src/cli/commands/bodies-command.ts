import type { Command } from 'commander';
import { referenceIn } from '../../avro/envelope.ts';
import { createWriterReader } from '../../avro/record-reader.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import type { IncomingRecord, ObjectReference } from '../../core/record.ts';
import { bodyReferenceOf } from '../../delivery/dead-letter/dead-letter-headers.ts';
import { missingTopics, withAdmin } from '../../kafka/admin/describe-topics.ts';
import { openRanges } from '../../kafka/consume/range-reader.ts';
import type { BodyStore } from '../../object-store/body-store.ts';
import {
  CLI_GROUPS,
  type CliConfig,
  connectBodyStore,
  connectKafka,
  connectRegistry,
  loadConfig,
} from '../shell/connections.ts';
import { printRows } from '../shell/print-rows.ts';
import { allSchemas } from '../shell/schemas-and-topics.ts';
import { type ExitCode, type Run, type Shell, UsageError } from '../shell/shell.ts';

type Options = { verify?: boolean; json?: boolean };

export function addBodiesCommand(program: Command, shell: Shell, run: Run): void {
  program
    .command('bodies')
    .description('the objects that events and dead-letter records refer to (BODY_STORE)')
    .command('check')
    .description(
      'compares all references in Kafka with the object store; exit code 1 if an object is missing or changed',
    )
    .option('--verify', 'reads every object and verifies its SHA-256')
    .option('--json', 'print JSON')
    .action(run((options: Options) => check(shell, options)));
}

/** By key of the object. */
type References = Map<string, { readonly reference: ObjectReference; readonly at: string }>;
type Row = {
  readonly finding: string;
  readonly object: string;
  readonly bytes: number;
  readonly record: string;
};

async function check(shell: Shell, options: Options): Promise<ExitCode> {
  const config = loadConfig(shell, ...CLI_GROUPS, 'bodyStore');
  const bodies = await connectBodyStore(config);
  if (!bodies) throw new UsageError('BODY_STORE is not set: no record refers to an object.');
  try {
    const references = await allReferences(shell, config, bodies);
    const { bucket, prefix } = bodies.address;
    const present = new Map<string, number>();
    for await (const { key, bytes } of bodies.store.list(prefix === '' ? '' : `${prefix}/`, shell.signal))
      if (/\.(json|bin)$/.test(key) && !/(^|\/)hookline-(check|doctor)[^/]*$/.test(key))
        present.set(key, bytes);
    const rows: Row[] = [];
    for (const [key, { reference, at }] of references) {
      const fault = await faultOf(reference, present.get(key), bodies, options.verify === true);
      if (fault) rows.push({ finding: fault, object: reference.uri, bytes: reference.bytes, record: at });
    }
    const orphans = [...present].filter(([key]) => !references.has(key));
    printRows(shell, options.json === true, rows);
    const orphanBytes = orphans.reduce((sum, [, bytes]) => sum + bytes, 0);
    shell.note(
      `s3://${bucket}/${prefix}: ${references.size} objects referred to, ${rows.length} missing or changed; ${orphans.length} that no record refers to (${orphanBytes} bytes): harmless, a lifecycle rule may delete them`,
    );
    return rows.length === 0 ? 0 : 1;
  } finally {
    bodies.close();
  }
}

async function faultOf(
  reference: ObjectReference,
  presentBytes: number | undefined,
  bodies: BodyStore,
  verify: boolean,
): Promise<string | null> {
  if (presentBytes === undefined) return 'missing';
  if (presentBytes !== reference.bytes) return 'changed';
  if (!verify) return null;
  return bodies.read(reference).then(
    () => null,
    (error: Error) => error.message,
  );
}

/** Reads every topic whose records can refer to objects. */
async function allReferences(shell: Shell, config: CliConfig, bodies: BodyStore): Promise<References> {
  const kafka = connectKafka(config);
  const read = createWriterReader(connectRegistry(config));
  const { prefix } = config.topics;
  const deadLetterTopic = topicName(prefix, OWN_TOPICS.deadLetter);
  const names = [
    ...new Set(allSchemas(config).map(({ topic }) => topicName(prefix, topic))),
    deadLetterTopic,
  ];
  const missing = new Set(await withAdmin(kafka.client, (admin) => missingTopics(admin, names)));
  const found: References = new Map();
  for (const topic of names.filter((name) => !missing.has(name))) {
    const reading = new Set<Promise<void>>();
    const take = async (record: IncomingRecord) => {
      const reference =
        topic === deadLetterTopic
          ? bodyReferenceOf(record.headers)
          : referenceIn(record.value && (await read(record.value)));
      if (reference)
        found.set(bodies.keyOf(reference.uri), {
          reference,
          at: `${topic}[${record.partition}]@${record.offset}`,
        });
    };
    const reader = await openRanges({ ...kafka, topic });
    try {
      await reader.read(await reader.span(), (record) => {
        const taken = take(record)
          .catch((error: Error) =>
            shell.note(`${topic}[${record.partition}]@${record.offset}: ${error.message}`),
          )
          .finally(() => reading.delete(taken));
        reading.add(taken);
      });
    } finally {
      await reader.stop();
    }
    await Promise.all(reading);
  }
  return found;
}
