import { SandboxError } from './errors.ts';

export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [name: string]: Json };

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A request's body as JSON in UTF-8. Throws `invalid_request` with the place of the fault, never with the text. */
export function parseJson(bytes: Buffer): Json {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as Json;
  } catch {
    throw new SandboxError('invalid_request', 'The body is not JSON in UTF-8.');
  }
}

/** Sets an own property whatever its name is: `__proto__` in a body is a field like any other. */
export function setField(target: JsonObject, name: string, value: Json): void {
  Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}
