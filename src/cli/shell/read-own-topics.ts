import { createRecordReader, type RecordReader } from '../../avro/record-reader.ts';
import { resolveSchemaIds } from '../../avro/resolve-ids.ts';
import { readCommandSchemas, readSchemaFiles } from '../../avro/schema-files.ts';
import { type CliConfig, type CliKafka, connectRegistry } from './connections.ts';
import type { Shell } from './shell.ts';

export type BrokenOff = {
  /** Rejects where the topic may not be read: to wait on is in vain. */
  readonly forbidden: Promise<never>;
  readonly onBrokenOff: (error: Error) => void;
};

/** For a topic whose reading breaks off: names the missing right where it may not be read; else reports it, and it is retried. */
export function watchReading(
  shell: Shell,
  topic: string,
  { groupPrefix }: Pick<CliKafka, 'groupPrefix'>,
): BrokenOff {
  const forbidden = Promise.withResolvers<never>();
  forbidden.promise.catch(() => {});
  const question = `may this user read ${topic}, by groups whose names begin with ${groupPrefix}?`;
  return {
    forbidden: forbidden.promise,
    onBrokenOff({ message }) {
      if (/not authorized/i.test(message))
        return forbidden.reject(new Error(`${topic} can't be read: ${message}: ${question}`));
      // The client has these words for a group that may not be used, and for brokers that are away.
      const hint = /group coordinator/i.test(message) ? `: ${question}` : '';
      shell.note(`${topic} can't be read, tried again: ${message}${hint}`);
    },
  };
}

/** A reader of results or of the state's records, with the schema that is registered for them. */
export async function ownRecordReader(
  config: CliConfig,
  kind: 'result' | 'subscription',
): Promise<RecordReader> {
  const schema = readCommandSchemas(readSchemaFiles(config.schemas.dir, 'commands'))[kind];
  const registry = connectRegistry(config);
  const ids = await resolveSchemaIds(registry, config.topics.prefix, [schema]);
  return createRecordReader(schema.codec, ids.of(schema), registry);
}
