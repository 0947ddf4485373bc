import { isObject, type Json } from '../core/json.ts';

/** Lays `over` on `base` as RFC 7396 does: objects merge, null removes a field, anything else replaces. */
export function mergeJson(base: Json, over: Json): Json {
  if (!isObject(over)) return over;
  const fields = new Map(Object.entries(isObject(base) ? base : {}));
  for (const [name, value] of Object.entries(over)) {
    if (value === null) fields.delete(name);
    else fields.set(name, mergeJson(fields.get(name) ?? null, value));
  }
  return Object.fromEntries(fields);
}
