import { isRegistryAway, leadingFieldsOf, type RecordReader } from '../avro/record-reader.ts';
import type { Command } from '../core/command.ts';
import { HooklineError, hasCode } from '../core/errors.ts';
import { JsonTooLarge, parseBoundedJson } from '../core/json.ts';
import { isJson, memberSpan } from '../core/json-scanner.ts';
import type { IncomingRecord } from '../core/record.ts';
import { COMMAND_JSON, commandIdOf, parseCommand } from './parse-command.ts';

/** A record of a command topic, read as far as it can be. */
export type ReadCommand =
  | { readonly ok: true; readonly command: Command }
  | {
      readonly ok: false;
      readonly reason: HooklineError;
      readonly commandId: string | null;
      readonly fields: Fields;
    };

/** @throws HooklineError as {@link readCommand} */
export type CommandReader = (record: IncomingRecord) => Promise<ReadCommand>;

type Fields = Readonly<Record<string, unknown>>;

/** Strict: a sign put in the place of what can't be read would change what was asked for. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A thousand records of a partition may wait, and an object takes many times the bytes that it was read from. */
const MOST_KEPT_BYTES = 4 * 1024;

/** Reads a record once, where it is small: what it must not run beside is asked before it is run. */
export function createCommandReader(readAvro: RecordReader): CommandReader {
  const known = new WeakMap<IncomingRecord, ReadCommand>();
  return async (record) => {
    const read = known.get(record) ?? (await readCommand(record, readAvro));
    if ((record.value?.length ?? 0) <= MOST_KEPT_BYTES) known.set(record, read);
    return read;
  };
}

/**
 * Reads a command: JSON where it begins with `{`, Confluent Avro where it begins with a zero byte.
 * @throws HooklineError REGISTRY_UNAVAILABLE, REGISTRY_REFUSED where the writer's schema can't be asked for now
 */
export async function readCommand(record: IncomingRecord, readAvro: RecordReader): Promise<ReadCommand> {
  let fields: Fields = {};
  try {
    fields = await readFields(record.value, readAvro);
    return { ok: true, command: parseCommand(fields) };
  } catch (error) {
    if (isRegistryAway(error)) throw error;
    if (error instanceof CommandTooLarge) fields = error.fields;
    else if (hasCode(error, 'RECORD_UNREADABLE')) fields = leadingFieldsOf(error);
    // Whatever it is, it would be the same the next time: thrown, it would stop the partition for ever.
    const reason = hasCode(error, 'COMMAND_INVALID')
      ? error
      : new HooklineError(
          'COMMAND_INVALID',
          error instanceof HooklineError ? error.message : 'it can not be read',
          {
            cause: error,
          },
        );
    return { ok: false, reason, commandId: commandIdOf(fields), fields };
  }
}

async function readFields(value: Buffer | null, readAvro: RecordReader): Promise<Fields> {
  if (value?.[0] === 0x7b) return parseJson(value);
  if (value?.[0] === 0) return readAvro(value);
  throw new HooklineError('COMMAND_INVALID', 'a command is a JSON object or Avro in the wire format');
}

function parseJson(value: Buffer): Fields {
  try {
    return parseBoundedJson(UTF8.decode(value), COMMAND_JSON) as Fields;
  } catch (error) {
    if (!(error instanceof JsonTooLarge) || !isJson(value))
      throw new HooklineError('COMMAND_INVALID', 'it begins like JSON and is none');
    throw new CommandTooLarge(error.message, identifyingFields(value.toString()));
  }
}

/** More JSON than a command is: what identifies it is read all the same, so that its sender gets a result. */
class CommandTooLarge extends HooklineError {
  readonly fields: Fields;
  constructor(detail: string, fields: Fields) {
    super('COMMAND_INVALID', detail);
    this.fields = fields;
  }
}

function identifyingFields(text: string): Fields {
  const found: Record<string, string> = {};
  for (const name of ['commandId', 'type', 'ref', 'issuedBy']) {
    const span = memberSpan(text, name);
    if (span && text[span.start] === '"') found[name] = JSON.parse(text.slice(span.start, span.end));
  }
  return found;
}

/**
 * What a command must not be run beside: others of its ref, whatever key or topic they came under, and others of its
 * id. One without a ref, or that can't be read, stays in the order of its record's key, which should be its ref, among
 * the commands of its topic: under a key that anybody can choose nobody holds up another topic's.
 * @throws HooklineError REGISTRY_UNAVAILABLE, REGISTRY_REFUSED where that can't be known now
 */
export async function keysOf(record: IncomingRecord, readCommand: CommandReader): Promise<readonly string[]> {
  const read = await readCommand(record);
  const { commandId, ref } = read.ok ? read.command : { commandId: read.commandId, ref: '' };
  const id = commandId === null ? [] : [`id ${commandId}`];
  if (ref !== '') return [`ref ${ref}`, `key ${record.topic} ${ref}`, ...id];
  return record.key === null ? id : [`key ${record.topic} ${record.key.toString()}`, ...id];
}
