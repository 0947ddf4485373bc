import { SandboxError } from '../core/errors.ts';
import { isObject, type Json, type JsonObject, setField } from '../core/json.ts';

const FIELD = 'sandboxPadding';
const FILLER = 'abcdefghijklmnopqrstuvwxyz0123456789';

/**
 * The message's JSON, filled up to exactly `bytes` bytes with a field of filler in its payload (or in itself where the
 * payload is no object). Throws `invalid_request` where it is too long for that already.
 */
export function padMessage(message: Json, bytes: number): Buffer {
  if (!isObject(message)) throw new SandboxError('invalid_request', 'Only a JSON object can be padded.');
  const padded = withPadding(message, '');
  const missing = bytes - Buffer.byteLength(JSON.stringify(padded));
  if (missing < 0) {
    throw new SandboxError(
      'invalid_request',
      `The message can't be padded to ${bytes} bytes: it has ${bytes - missing} already.`,
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
