import {
  DEFAULT_DIALECT,
  type Dialect,
  placeholderIn,
  writeCreated,
  writeItem,
  writeList,
} from './dialect.ts';
import { isObject, isPointer, type Json, type JsonObject } from './json.ts';

/** The values that each operation needs. */
const NEEDED = { create: ['url', 'events'], update: [], replay: ['executionId'] } as const;

/**
 * Merges a dialect file into the default, key by key. A `body` replaces the default's as a whole, so that a file can
 * rename a field. Returns the dialect, or every fault of the file with its JSON pointer.
 */
export function loadDialect(text: string): { dialect: Dialect } | { faults: string[] } {
  const file = parse(text);
  if (!isObject(file)) return { faults: ['is not a JSON object'] };
  const faults: string[] = [];
  const dialect = overlay(DEFAULT_DIALECT as unknown as JsonObject, file, '', faults) as unknown as Dialect;
  if (faults.length === 0) checkTemplates(dialect, faults);
  if (faults.length === 0) checkAnswers(dialect, faults);
  return faults.length > 0 ? { faults } : { dialect };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function overlay(base: JsonObject, over: JsonObject, pointer: string, faults: string[]): JsonObject {
  const unknown = Object.keys(over).filter((name) => !Object.hasOwn(base, name));
  faults.push(...unknown.map((name) => unknownAt(`${pointer}/${name}`, base)));
  const entries = Object.entries(base).map(([name, value]): [string, Json] => {
    const given = Object.hasOwn(over, name) ? over[name] : undefined;
    if (given === undefined) return [name, value];
    const at = `${pointer}/${name}`;
    if (name === 'body') return [name, given];
    if (isObject(value)) {
      if (isObject(given)) return [name, overlay(value, given, at, faults)];
      faults.push(`${at} must be an object`);
    } else {
      const fault = faultOf(at, given);
      if (fault) faults.push(`${at} ${fault}`);
    }
    return [name, given];
  });
  return Object.fromEntries(entries);
}

function unknownAt(pointer: string, base: JsonObject): string {
  if (pointer === '/extra/mayReplace')
    return `${pointer} is no longer known: use /extra/allow, the fields that a command's extra may add`;
  return `${pointer} is not known: use ${Object.keys(base).join(', ')}`;
}

function faultOf(pointer: string, value: Json): string | null {
  if (pointer === '/extra/allow') {
    const ok = Array.isArray(value) && value.every((field) => typeof field === 'string' && field !== '');
    return ok ? null : 'must be a list of field names';
  }
  if (pointer.startsWith('/status/')) {
    const ok = Number.isInteger(value) && (value as number) >= 200 && (value as number) <= 299;
    return ok ? null : 'must be a status from 200 to 299';
  }
  if (typeof value !== 'string') return 'must be a string';
  if (pointer.startsWith('/eventNames/')) return value === '' ? 'must not be empty' : null;
  if (!isPointer(value)) return 'must be a JSON pointer, such as /data/id';
  return value === '' && pointer !== '/list/items' ? 'must point to a field, such as /id' : null;
}

function checkTemplates(dialect: Dialect, faults: string[]): void {
  for (const operation of ['create', 'update', 'replay'] as const) {
    const found: string[] = [];
    collect(dialect[operation].body, `/${operation}/body`, found, faults);
    for (const name of NEEDED[operation]) {
      if (!found.includes(name)) faults.push(`/${operation}/body has no placeholder {${name}}`);
    }
  }
}

function collect(template: Json, pointer: string, found: string[], faults: string[]): void {
  const name = placeholderIn(template);
  if (name !== null) found.push(name);
  else if (typeof template === 'string' && /\{\w+\}/.test(template)) {
    faults.push(`${pointer} mixes a placeholder with text: a value must be one placeholder or plain`);
  } else if (typeof template === 'object' && template !== null) {
    for (const [key, value] of Object.entries(template)) collect(value, `${pointer}/${key}`, found, faults);
  }
}

/** Writes a sample of each answer: pointers that contradict each other fail at the start, not in a test. */
function checkAnswers(dialect: Dialect, faults: string[]): void {
  const sample = {
    id: 'id',
    signingSecret: 'secret',
    encryptionKey: null,
    url: 'https://receiver.example',
    events: ['payment-status'] as const,
    active: true,
    extra: {},
    createdAt: '',
  };
  try {
    writeCreated(sample, dialect);
    writeItem(sample, dialect);
    writeList([sample], dialect);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    faults.push(error.message);
  }
}
