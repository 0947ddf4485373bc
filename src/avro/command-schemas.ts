import type { DecodeLimits } from './bounded-decode.ts';
import { compileCodec, type RecordCodec } from './record-codec.ts';
import { readSchemaFiles, type SchemaFile, schemaInvalid } from './schema-files.ts';

/** Commands are small, and some dozens of them are in work at the same time. Results may list many subscriptions. */
const LIMITS: Readonly<Record<string, DecodeLimits>> = { commands: { maxValues: 10_000 } };

/** The records of Hookline's own topics. */
export type CommandSchemas = {
  readonly command: CommandSchema;
  readonly result: CommandSchema;
  readonly subscription: CommandSchema;
};

type CommandSchema = {
  readonly file: string;
  /** Without the prefix. */
  readonly topic: string;
  readonly codec: RecordCodec;
};

/**
 * The schemas of SCHEMAS_DIR/commands, compiled, and found by the topic that each file names.
 * @throws HooklineError SCHEMA_INVALID
 */
export function commandSchemasIn(dir: string | undefined): CommandSchemas {
  const schemas = readSchemaFiles(dir, 'commands').map(readCommandSchema);
  const byTopic = new Map(schemas.map((schema) => [schema.topic, schema]));
  const schemaOf = (topic: string) => {
    const schema = byTopic.get(topic);
    if (!schema)
      throw schemaInvalid('commands', new Error(`no file names the topic ${JSON.stringify(topic)}`));
    return schema;
  };
  return {
    command: schemaOf('commands'),
    result: schemaOf('command-results'),
    subscription: schemaOf('subscriptions'),
  };
}

function readCommandSchema(file: SchemaFile): CommandSchema {
  try {
    const json: { topic?: unknown } = JSON.parse(file.text);
    if (typeof json.topic !== 'string') throw new Error('names no topic');
    return { file: file.name, topic: json.topic, codec: compileCodec(json, LIMITS[json.topic]) };
  } catch (error) {
    throw schemaInvalid(file.name, error);
  }
}
