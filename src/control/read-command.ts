import { isRegistryUnavailable, leadingFieldsOf, type RecordReader } from '../avro/record-reader.ts';
import {
  COMMAND_TYPES,
  type Command,
  type CommandType,
  isCommandId,
  MAX_EXECUTION_IDS,
} from '../core/command.ts';
import { HooklineError, hasCode } from '../core/errors.ts';
import { parseInstant } from '../core/instant.ts';
import { JsonTooLarge, parseBoundedJson } from '../core/json.ts';
import { isJson, leadingSpans, QUOTE } from '../core/json-scanner.ts';
import { isRef } from '../core/names.ts';
import type { IncomingRecord } from '../core/record.ts';

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

/** Strict: a replacement character would change what the command says. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A thousand records of a partition may wait, and an object takes many times the bytes of its record. */
const MAX_KEPT_BYTES = 4 * 1024;

/** Reads a small command once: its keys are needed before it is run. What could not be read may be readable by then. */
export function createCommandReader(readAvro: RecordReader): CommandReader {
  const known = new WeakMap<IncomingRecord, ReadCommand>();
  return async (record) => {
    const read = known.get(record) ?? (await readCommand(record, readAvro));
    if (read.ok && (record.value?.length ?? 0) <= MAX_KEPT_BYTES) known.set(record, read);
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
    if (isRegistryUnavailable(error)) throw error;
    if (error instanceof PartlyRead) fields = error.fields;
    else if (hasCode(error, 'RECORD_UNREADABLE')) fields = leadingFieldsOf(error);
    // It would be the same the next time: thrown, it would stop the partition for ever.
    const reason = hasCode(error, 'COMMAND_INVALID')
      ? error
      : new HooklineError(
          'COMMAND_INVALID',
          error instanceof HooklineError ? error.message : 'it cannot be read',
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
    const detail = error instanceof JsonTooLarge && isJson(value) ? error.message : 'malformed JSON';
    throw new PartlyRead(detail, identifyingFields(value));
  }
}

/** Malformed JSON, or more than a command has: what identifies it is read all the same, so that its sender gets a result. */
class PartlyRead extends HooklineError {
  readonly fields: Fields;
  constructor(detail: string, fields: Fields) {
    super('COMMAND_INVALID', detail);
    this.fields = fields;
  }
}

function identifyingFields(bytes: Buffer): Fields {
  const found: Record<string, string> = {};
  for (const [name, { start, end }] of leadingSpans(bytes, ['commandId', 'type', 'ref', 'issuedBy']))
    if (bytes[start] === QUOTE) found[name] = JSON.parse(bytes.toString('utf8', start, end));
  return found;
}

/**
 * The keys that a command shares with those it must not run beside: others of its ref, whatever record key or topic they
 * came with, and others of its id. A command without a ref, or one that cannot be read, keeps the order of its record's
 * key within its topic: anybody can choose a key, and must not delay another topic's commands by it.
 * @throws HooklineError REGISTRY_UNAVAILABLE, REGISTRY_REFUSED where that is not known now
 */
export async function keysOf(record: IncomingRecord, readCommand: CommandReader): Promise<readonly string[]> {
  const read = await readCommand(record);
  const { commandId, ref } = read.ok ? read.command : { commandId: read.commandId, ref: '' };
  const id = commandId === null ? [] : [`id ${commandId}`];
  if (ref !== '') return [`ref ${ref}`, `key ${record.topic} ${ref}`, ...id];
  return record.key === null ? id : [`key ${record.topic} ${record.key.toString()}`, ...id];
}

const KNOWN = new Set([
  'commandId',
  'type',
  'ref',
  'events',
  'executionIds',
  'extra',
  'issuedBy',
  'issuedAt',
  'expiresAt',
  'dryRun',
  'ifMatch',
]);
/** Levels of `extra`. It is written as JSON again, which overflows the stack where it is nested by the thousands. */
const MAX_DEPTH = 64;
/** What a command, or its `extra`, is in JSON at most. Some dozens of commands are in work at the same time. */
const COMMAND_JSON = { maxValues: 10_000, maxDepth: 10_000 };
const TAKES_EVENTS: ReadonlySet<CommandType> = new Set([
  'subscription.create',
  'subscription.update',
  'subscription.adopt',
]);

/** The id that a result can be given under, whatever else is wrong with the command. */
export function commandIdOf(fields: Fields): string | null {
  const { commandId } = fields;
  return typeof commandId === 'string' && isCommandId(commandId) ? commandId : null;
}

/**
 * Reads the fields of a command, whether they came as JSON or as Avro.
 * @throws HooklineError COMMAND_INVALID naming every fault
 */
export function parseCommand(fields: Fields): Command {
  const faults: string[] = [];
  const check = <T>(value: T | undefined, fault: string): T => {
    if (value === undefined) faults.push(fault);
    return value as T;
  };
  const type = check(asType(fields.type), `type must be one of ${COMMAND_TYPES.join(', ')}`);
  const command: Command = {
    commandId: check(
      commandIdOf(fields) ?? undefined,
      'commandId must be a text without spaces, best a UUID',
    ),
    type,
    ref: check(asRef(fields.ref, type), 'ref must match ^[a-z0-9][a-z0-9-]{0,62}$'),
    events: check(asTexts(fields.events), 'events must be a list of texts, none of them empty'),
    executionIds: check(
      asTexts(fields.executionIds),
      'executionIds must be a list of texts, none of them empty',
    ),
    extra: check(asObject(fields.extra), `extra must be a JSON object of at most ${MAX_DEPTH} levels`),
    issuedBy: check(asText(fields.issuedBy), 'issuedBy must be a text'),
    expiresAt: check(
      asTime(fields.expiresAt),
      'expiresAt must be ISO 8601 with an offset, or epoch milliseconds',
    ),
    dryRun: check(asFlag(fields.dryRun), 'dryRun must be true or false'),
    ifMatch: check(asText(fields.ifMatch), 'ifMatch must be a text: the commandId of the last change'),
    unknownFields: Object.keys(fields).filter((name) => !KNOWN.has(name)),
  };
  check(asTime(fields.issuedAt), 'issuedAt must be ISO 8601 with an offset, or epoch milliseconds');
  if ((command.executionIds?.length ?? 0) > MAX_EXECUTION_IDS)
    faults.push(
      `executionIds has ${command.executionIds?.length} entries, at most ${MAX_EXECUTION_IDS} are taken: send several commands`,
    );
  if (type !== undefined && TAKES_EVENTS.has(type) && command.events?.length === 0)
    faults.push('events is empty: name at least one, or leave it out');
  if (type === 'webhook.replay' && command.executionIds !== undefined && !command.executionIds?.length)
    faults.push('webhook.replay needs executionIds');
  if (faults.length > 0) throw new HooklineError('COMMAND_INVALID', faults.join('; '));
  return command;
}

const isAbsent = (value: unknown): value is null | undefined => value === null || value === undefined;

function asType(value: unknown): CommandType | undefined {
  return COMMAND_TYPES.find((type) => type === value);
}

function asRef(value: unknown, type: CommandType | undefined): string | undefined {
  // Where the type is none nobody knows whether a ref is needed: one fault is said, not two.
  if (isAbsent(value)) return type === 'subscription.list' || type === undefined ? '' : undefined;
  return isRef(value) ? value : undefined;
}

function asText(value: unknown): string | null | undefined {
  if (isAbsent(value)) return null;
  return typeof value === 'string' ? value : undefined;
}

function asTexts(value: unknown): readonly string[] | null | undefined {
  if (isAbsent(value)) return null;
  return Array.isArray(value) && value.every((one) => typeof one === 'string' && one !== '')
    ? value
    : undefined;
}

function asFlag(value: unknown): boolean | undefined {
  if (isAbsent(value)) return false;
  return typeof value === 'boolean' ? value : undefined;
}

/** In Avro it is the text of a JSON object, in JSON the object itself. */
function asObject(value: unknown): Fields | undefined {
  if (isAbsent(value) || value === '') return {};
  if (typeof value === 'string') {
    try {
      return asObject(parseBoundedJson(value, COMMAND_JSON));
    } catch {
      return undefined;
    }
  }
  if (typeof value !== 'object' || Array.isArray(value) || !isShallow(value, MAX_DEPTH)) return undefined;
  return value as Fields;
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isShallow(inner, levels - 1));
}

function asTime(value: unknown): number | null | undefined {
  return isAbsent(value) ? null : parseInstant(value);
}
