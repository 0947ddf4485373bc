import { createRecordReader, type RecordReader } from '../../avro/record-reader.ts';
import { resolveSchemaIds } from '../../avro/resolve-ids.ts';
import { readCommandSchemas, readSchemaFiles } from '../../avro/schema-files.ts';
import { type CliConfig, type CliKafka, connectRegistry } from './connections.ts';
import type { Shell } from './shell.ts';

export type ReadFailure = {
  /** Rejects if this user may not read the topic: waiting would never end. */
  readonly forbidden: Promise<never>;
  readonly onError: (error: Error) => void;
};

/** Reports errors of reading a topic, which is then retried. A missing right rejects `forbidden` instead. */
export function watchReadErrors(
  shell: Shell,
  topic: string,
  { groupPrefix }: Pick<CliKafka, 'groupPrefix'>,
): ReadFailure {
  const forbidden = Promise.withResolvers<never>();
  forbidden.promise.catch(() => {});
  const advice = `check that this user may read ${topic} with consumer groups whose names begin with ${groupPrefix}`;
  return {
    forbidden: forbidden.promise,
    onError({ message }) {
      if (/not authorized/i.test(message))
        return forbidden.reject(new Error(`${topic} cannot be read: ${message}: ${advice}`));
      // The client reports this both for a forbidden group and for unavailable brokers.
      const hint = /group coordinator/i.test(message) ? `: ${advice}` : '';
      shell.note(`${topic} cannot be read, trying again: ${message}${hint}`);
    },
  };
}

/** Decodes records of the topic of results or of subscriptions. */
export async function ownRecordReader(
  config: CliConfig,
  kind: 'result' | 'subscription',
): Promise<RecordReader> {
  const schema = readCommandSchemas(readSchemaFiles(config.schemas.dir, 'commands'))[kind];
  const registry = connectRegistry(config);
  const ids = await resolveSchemaIds(registry, config.topics.prefix, [schema]);
  return createRecordReader(schema.codec, ids.of(schema), registry);
}
