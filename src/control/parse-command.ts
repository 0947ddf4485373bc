import { COMMAND_TYPES, type Command, type CommandType, MOST_EXECUTION_IDS } from '../core/command.ts';
import { HooklineError } from '../core/errors.ts';
import { parseInstant } from '../core/instant.ts';
import { parseBoundedJson } from '../core/json.ts';
import { isRef } from '../core/names.ts';

type Fields = Readonly<Record<string, unknown>>;

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
const MOST_DEPTH = 64;
/** What a command, or its `extra`, is in JSON at most. Some dozens of commands are in work at the same time. */
export const COMMAND_JSON = { mostValues: 10_000, mostDepth: 10_000 };
const COMMAND_ID = /^[\x21-\x7e]{1,200}$/;

/** The id that a result can be given under, whatever else is wrong with the command. */
export function commandIdOf(fields: Fields): string | null {
  const { commandId } = fields;
  return typeof commandId === 'string' && COMMAND_ID.test(commandId) ? commandId : null;
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
    events: check(asTexts(fields.events), 'events must be a list of texts'),
    executionIds: check(asTexts(fields.executionIds), 'executionIds must be a list of texts'),
    extra: check(asObject(fields.extra), `extra must be a JSON object of at most ${MOST_DEPTH} levels`),
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
  if ((command.executionIds?.length ?? 0) > MOST_EXECUTION_IDS)
    faults.push(
      `executionIds has ${command.executionIds?.length} entries, at most ${MOST_EXECUTION_IDS} are taken: send several commands`,
    );
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
  if (typeof value !== 'object' || Array.isArray(value) || !isShallow(value, MOST_DEPTH)) return undefined;
  return value as Fields;
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isShallow(inner, levels - 1));
}

function asTime(value: unknown): number | null | undefined {
  return isAbsent(value) ? null : parseInstant(value);
}
