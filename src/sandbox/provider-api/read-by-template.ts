import { placeholderIn } from '../core/dialect.ts';
import { SandboxError } from '../core/errors.ts';
import { isObject, type Json, type JsonObject } from '../core/json.ts';

export type Reading = {
  /** What stands where the template has placeholders, by their names. What is absent has no entry. */
  readonly values: ReadonlyMap<string, Json>;
  /** Fields of the body that the template doesn't have: kept, as the interface doesn't rule them out. */
  readonly extra: JsonObject;
};

/** Reads a request's body by a dialect's template. Throws `invalid_request` where the body contradicts it. */
export function readByTemplate(template: Json, body: Json): Reading {
  const values = new Map<string, Json>();
  walk(template, body, '', values);
  const others =
    isObject(template) && isObject(body)
      ? Object.entries(body).filter(([name]) => !Object.hasOwn(template, name))
      : [];
  return { values, extra: Object.fromEntries(others) };
}

function walk(template: Json, value: Json | undefined, place: string, values: Map<string, Json>): void {
  const name = placeholderIn(template);
  if (name !== null) {
    if (value !== undefined) values.set(name, value);
  } else if (Array.isArray(template)) {
    const items = value ?? [];
    if (!Array.isArray(items)) throw mismatch(place, 'a list');
    for (const [i, item] of template.entries()) walk(item, items[i], `${place}/${i}`, values);
  } else if (isObject(template)) {
    const fields = value ?? {};
    if (!isObject(fields)) throw mismatch(place, 'an object');
    for (const [key, item] of Object.entries(template)) {
      walk(item, Object.hasOwn(fields, key) ? fields[key] : undefined, `${place}/${key}`, values);
    }
  } else if (value !== template) {
    throw mismatch(place, JSON.stringify(template));
  }
}

const mismatch = (place: string, wanted: string) =>
  new SandboxError('invalid_request', `${place === '' ? 'The body' : place} must be ${wanted}.`);
