import { commandSchemasIn } from '../../avro/command-schemas.ts';
import { createOwnReader, type RecordReader } from '../../avro/record-reader.ts';
import { resolveSchemaIds } from '../../avro/resolve-ids.ts';
import { hasCode } from '../../core/errors.ts';
import { type CliConfig, connectRegistry } from './connections.ts';
import { describeError, type Shell } from './shell.ts';

export type ReadFailure = {
  /** Rejects if this user may not read the topic: waiting would never end. */
  readonly forbidden: Promise<never>;
  readonly onError: (error: Error) => void;
};

/** Reports errors of reading a topic, which is then retried. A missing right rejects `forbidden` instead. */
export function watchReadErrors(shell: Shell, topic: string): ReadFailure {
  const forbidden = Promise.withResolvers<never>();
  forbidden.promise.catch(() => {});
  return {
    forbidden: forbidden.promise,
    onError(error) {
      if (hasCode(error, 'KAFKA_REFUSED')) return forbidden.reject(error);
      shell.note(`${topic} cannot be read, trying again: ${describeError(error)}`);
    },
  };
}

/** Decodes records of the topic of results or of subscriptions. */
export async function ownRecordReader(
  config: CliConfig,
  kind: 'result' | 'subscription',
): Promise<RecordReader> {
  const schema = commandSchemasIn(config.schemas.dir)[kind];
  const registry = connectRegistry(config);
  const ids = await resolveSchemaIds(registry, config.topics.prefix, [schema]);
  return createOwnReader(schema.codec, ids.of(schema), registry);
}
