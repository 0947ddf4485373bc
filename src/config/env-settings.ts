/** The kinds of settings: each parses one text and says, where it doesn't fit, what would. */
import { type EnvSource, Fault, isSecretFile, type Setting } from './env.ts';

type Shape = { about: string; fallback?: string };
type Parse<T> = (text: string, source: EnvSource) => T;

/** A setting that has a default or must be set. */
export function setting<T>(name: string, shape: Shape, parse: Parse<T>): Setting<T> {
  return {
    name,
    about: shape.about,
    fallback: shape.fallback,
    required: shape.fallback === undefined,
    parse,
  };
}

/** The same setting, but it may be left out: its value is then undefined. */
export function optional<T>(base: Setting<T>): Setting<T | undefined> {
  return { ...base, required: false };
}

export const text = (name: string, shape: Shape): Setting<string> => setting(name, shape, (value) => value);

export function integer(name: string, shape: Shape & { min?: number; max?: number }): Setting<number> {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = shape;
  return setting(name, shape, (value) => {
    const number = Number(value);
    if (!/^-?\d+$/.test(value) || number < min || number > max) {
      throw new Fault(`is ${quote(value)}: give a whole number from ${min} to ${max}.`);
    }
    return number;
  });
}

/** The longest time that a timer of Node's can be set to: a longer one ends at once. About 24 days. */
export const MOST_TIMER_MS = 2_147_483_647;

/** Milliseconds that a timer is set to. */
export const milliseconds = (name: string, shape: Shape & { min?: number }): Setting<number> =>
  integer(name, { ...shape, max: MOST_TIMER_MS });

export function flag(name: string, shape: Shape): Setting<boolean> {
  return setting(name, shape, (value) => {
    if (value !== 'true' && value !== 'false') throw new Fault(`is ${quote(value)}: give true or false.`);
    return value === 'true';
  });
}

export function oneOf<const T extends string>(
  name: string,
  shape: Shape & { values: readonly T[] },
): Setting<T> {
  return setting(name, shape, (value) => {
    const found = shape.values.find((one) => one === value);
    if (found === undefined) throw new Fault(`is ${quote(value)}: give one of ${shape.values.join(', ')}.`);
    return found;
  });
}

/** Parts split at commas, spaces trimmed, empty ones dropped; commas alone are no list. */
export function list<T>(name: string, shape: Shape, parseOne: (part: string) => T): Setting<readonly T[]> {
  return setting(name, shape, (value) => {
    const parts = value
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
    if (parts.length === 0 && value !== '')
      throw new Fault(`is ${quote(value)}: give one or more, separated by commas.`);
    return Object.freeze(parts.map(parseOne));
  });
}

/** An absolute http or https address that paths can be put behind: without a slash at its end. */
export function url(name: string, shape: Shape): Setting<string> {
  return setting(name, shape, parseUrl);
}

function parseUrl(value: string): string {
  const parsed = URL.parse(value);
  // Before anything is quoted: the text holds what nobody may read.
  if (parsed?.username || parsed?.password || /\/\/[^/]*@/.test(value)) {
    throw new Fault('carries credentials: they go into their own variables.');
  }
  if (!parsed || !/^https?:\/\//i.test(value)) {
    throw new Fault(`is ${quote(value)}: give an http or https address.`);
  }
  if (parsed.search || parsed.hash) {
    throw new Fault(`is ${quote(value)}: give an address without a query, as paths are put behind it.`);
  }
  return value.replace(/\/+$/, '');
}

/** The path of a file or folder that can be read now. Its content is read where it is used, again when it changes. */
export function path(name: string, shape: Shape): Setting<string> {
  return setting(name, shape, (value, source) => {
    const fault = source.fileFault(value);
    // Where a secret was put in place of its file's path, the text is the secret.
    const what = isSecretFile(name) && !/^\.{0,2}\//.test(value) ? 'a file' : `${quote(value)},`;
    if (fault)
      throw new Fault(`names ${what} which can't be read (${fault}): mount it there or correct the path.`);
    return value;
  });
}

const quote = (value: string) => JSON.stringify(value);
