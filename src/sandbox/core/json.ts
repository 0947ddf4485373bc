import { SandboxError } from './errors.ts';

export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [name: string]: Json };

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A request's body as JSON in UTF-8. Throws `invalid_request`, without the text. */
export function parseJson(bytes: Buffer): Json {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as Json;
  } catch {
    throw new SandboxError('invalid_request', 'The body is not JSON in UTF-8.');
  }
}

/** Sets an own property, whatever its name is: `__proto__` in a body is a field like any other. */
export function setField(target: JsonObject, name: string, value: Json): void {
  Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}

/** JSON Pointer, RFC 6901; no code is shared with the rest of Hookline, so that a mistake shows as a difference. */
export const POINTER_PATTERN = '^(?:/(?:[^~/]|~[01])*)*$';

const SYNTAX = new RegExp(POINTER_PATTERN);

export const isPointer = (text: string): boolean => SYNTAX.test(text);

const stepsOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));

/**
 * Sets `value` at `pointer` in place and returns the document; `''` is the document itself. Creates missing objects on
 * the path; `-` appends to a list. Throws a TypeError where the path goes through a value that has no fields.
 */
export function setAt(document: Json, pointer: string, value: Json): Json {
  const steps = stepsOf(pointer);
  const last = steps.pop();
  if (last === undefined) return value;
  let at = document;
  for (const step of steps) {
    if (child(at, step) === undefined) put(at, step, {}, pointer);
    at = child(at, step) as Json;
  }
  put(at, last, value, pointer);
  return document;
}

/** Removes the value at `pointer` in place; does nothing where there is no such value. */
export function removeAt(document: Json, pointer: string): void {
  const steps = stepsOf(pointer);
  const last = steps.pop();
  let at: Json | undefined = document;
  for (const step of steps) at = at === undefined ? undefined : child(at, step);
  if (last === undefined || at === undefined) return;
  if (Array.isArray(at) && /^\d+$/.test(last)) at.splice(Number(last), 1);
  else if (isObject(at)) delete at[last];
}

function child(at: Json, step: string): Json | undefined {
  if (Array.isArray(at)) return /^\d+$/.test(step) ? at[Number(step)] : undefined;
  return isObject(at) && Object.hasOwn(at, step) ? at[step] : undefined;
}

function put(at: Json, step: string, value: Json, pointer: string): void {
  if (Array.isArray(at) && (step === '-' || (/^\d+$/.test(step) && Number(step) <= at.length))) {
    at[step === '-' ? at.length : Number(step)] = value;
  } else if (isObject(at)) {
    setField(at, step, value);
  } else {
    throw new TypeError(`${pointer} goes through a value that has no field ${JSON.stringify(step)}`);
  }
}
