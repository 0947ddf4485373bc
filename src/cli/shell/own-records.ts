import { createRecordReader, type RecordReader } from '../../avro/record-reader.ts';
import { resolveSchemaIds } from '../../avro/resolve-ids.ts';
import { readCommandSchemas, readSchemaFiles } from '../../avro/schema-files.ts';
import { type CliConfig, connectRegistry } from './connections.ts';

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
