import { isRegistryAway, type RecordReader } from '../avro/record-reader.ts';
import type { Command } from '../core/command.ts';
import { HooklineError, hasCode } from '../core/errors.ts';
import type { IncomingRecord } from '../kafka/incoming-record.ts';
import { commandIdOf, parseCommand } from './parse-command.ts';

/** A record of a command topic, read as far as it can be. */
export type ReadCommand =
  | { readonly ok: true; readonly command: Command }
  | {
      readonly ok: false;
      readonly reason: HooklineError;
      readonly commandId: string | null;
      readonly fields: Fields;
    };

type Fields = Readonly<Record<string, unknown>>;

/** Strict: a sign put in the place of what can't be read would change what was asked for. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

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
    if (!(error instanceof HooklineError) || isRegistryAway(error)) throw error;
    const reason = hasCode(error, 'COMMAND_INVALID')
      ? error
      : new HooklineError('COMMAND_INVALID', error.message, { cause: error });
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
    return JSON.parse(UTF8.decode(value));
  } catch {
    throw new HooklineError('COMMAND_INVALID', 'it begins like JSON and is none');
  }
}
