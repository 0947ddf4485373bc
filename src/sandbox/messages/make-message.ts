import { SandboxError } from '../core/errors.ts';
import type { EventName } from '../core/event-names.ts';
import { isObject, type Json, type JsonObject, setAt, setField } from '../core/json.ts';
import {
  accountsEntriesPayload,
  collectionStatusPayload,
  createRandom,
  type MessageDetail,
  paymentStatusPayload,
} from './payloads.ts';

export type MessageSpec = {
  readonly event: EventName;
  readonly seed: number;
  /** Time of the first message, in milliseconds; each further one is a millisecond later. */
  readonly startMs: number;
  /** The message's `type`. */
  readonly type: string;
  /** The messages use this many entities in turn; null: each has its own. */
  readonly entities: number | null;
  readonly status: string;
  readonly transactions: number;
  readonly overrides: Json | null;
  readonly set: Readonly<Record<string, Json>>;
  readonly sizeBytes: number | null;
};

export type Message = {
  readonly bytes: Buffer;
  readonly type: string | null;
  readonly entityId: string | null;
};

/** The `n`-th message (from 0) of a trigger. The same spec and n give the same bytes. */
export function makeMessage(spec: MessageSpec, n: number): Message {
  const entity = spec.entities === null ? n : n % spec.entities;
  const made: JsonObject = {
    type: spec.type,
    entityId: createRandom(spec.seed, `entity ${entity}`).uuid(),
    payload: PAYLOADS[spec.event]({
      random: createRandom(spec.seed, `message ${n}`),
      at: new Date(spec.startMs + n),
      status: spec.status,
      transactions: spec.transactions,
    }),
  };
  // Copies, so that one message's changes do not reach the next.
  const merged = spec.overrides === null ? made : mergeJson(made, structuredClone(spec.overrides));
  const message = applySet(merged, structuredClone(spec.set));
  const bytes =
    spec.sizeBytes === null ? Buffer.from(JSON.stringify(message)) : padMessage(message, spec.sizeBytes);
  return { bytes, type: textAt(message, 'type'), entityId: textAt(message, 'entityId') };
}

const PAYLOADS: Readonly<Record<EventName, (detail: MessageDetail) => JsonObject>> = {
  'payment-status': paymentStatusPayload,
  'accounts-entries': accountsEntriesPayload,
  'collection-status': collectionStatusPayload,
};

function applySet(message: Json, set: MessageSpec['set']): Json {
  try {
    return Object.entries(set).reduce((at, [pointer, value]) => setAt(at, pointer, value), message);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new SandboxError('invalid_request', `set: ${error.message}.`);
  }
}

/** A raw body as a message, with its type and entity where it is JSON. */
export function describeRaw(bytes: Buffer): Message {
  let message: Json = null;
  try {
    message = JSON.parse(bytes.toString('utf8')) as Json;
  } catch {
    // A raw body may be anything.
  }
  return { bytes, type: textAt(message, 'type'), entityId: textAt(message, 'entityId') };
}

function textAt(message: Json, name: string): string | null {
  const value = isObject(message) ? message[name] : null;
  return typeof value === 'string' ? value : null;
}

/** JSON Merge Patch (RFC 7396): objects merge, null removes a field, any other value replaces. */
export function mergeJson(base: Json, over: Json): Json {
  if (!isObject(over)) return over;
  const fields = new Map(Object.entries(isObject(base) ? base : {}));
  for (const [name, value] of Object.entries(over)) {
    if (value === null) fields.delete(name);
    else fields.set(name, mergeJson(fields.get(name) ?? null, value));
  }
  return Object.fromEntries(fields);
}

const FIELD = 'sandboxPadding';
const FILLER = 'abcdefghijklmnopqrstuvwxyz0123456789';

/**
 * The message's JSON, padded to exactly `bytes` bytes by a field in its payload (or beside it, if the payload is not an
 * object). Throws `invalid_request` where it is longer already.
 */
export function padMessage(message: Json, bytes: number): Buffer {
  if (!isObject(message)) throw new SandboxError('invalid_request', 'Only a JSON object can be padded.');
  const padded = withPadding(message, '');
  const missing = bytes - Buffer.byteLength(JSON.stringify(padded));
  if (missing < 0) {
    throw new SandboxError(
      'invalid_request',
      `The message cannot be padded to ${bytes} bytes: it has ${bytes - missing} already.`,
    );
  }
  const filler = FILLER.repeat(Math.ceil(missing / FILLER.length)).slice(0, missing);
  return Buffer.from(JSON.stringify(withPadding(message, filler)));
}

function withPadding(message: JsonObject, filler: string): JsonObject {
  const { payload } = message;
  if (isObject(payload)) return { ...message, payload: { ...payload, [FIELD]: filler } };
  const copy = { ...message };
  setField(copy, FIELD, filler);
  return copy;
}
