import { accessSync, constants } from 'node:fs';

/**
 * The environment as an argument: a group of settings is read once, every fault is collected, and each fault
 * names the variable and the remedy. Nothing here reads the process: a `main.ts` hands its environment in.
 */

/** Where settings come from. `fileFault` says why a file can't be read, or null when it can. */
export type EnvSource = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly fileFault: (path: string) => string | null;
};

/** One environment variable. `parse` returns the value or throws a {@link Fault} that says what would be right. */
export type Setting<T> = {
  readonly name: string;
  readonly about: string;
  readonly fallback: string | undefined;
  readonly required: boolean;
  readonly parse: (text: string, source: EnvSource) => T;
};

export type Settings = Readonly<Record<string, Setting<unknown>>>;
export type ValuesOf<S extends Settings> = { readonly [K in keyof S]: ReturnType<S[K]['parse']> };

/** What is wrong with one variable, in a text that names the remedy. */
export class Fault extends Error {}

/** All faults of a configuration at once. A process that gets it exits with {@link CONFIG_EXIT_CODE}. */
export class ConfigError extends Error {
  readonly faults: readonly string[];
  /** @param hints what may be the cause of some of them */
  constructor(faults: readonly string[], hints: readonly string[] = []) {
    super(
      `The configuration has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n  ${[...faults, ...hints].join('\n  ')}`,
    );
    this.name = 'ConfigError';
    this.faults = faults;
  }
}

/** EX_CONFIG of sysexits.h: the configuration is at fault, restarting won't help. */
export const CONFIG_EXIT_CODE = 78;

export type EnvReader = {
  /** Reads a group. A faulty value is left undefined: `done` throws before anyone can use it. */
  read<S extends Settings>(settings: S): ValuesOf<S>;
  /**
   * Adds a fault that only several values together show.
   * @param variables whose values show it: where one of them is faulty by itself, it may be set, and that fault is said alone
   */
  fault(text: string, variables?: readonly string[]): void;
  /** Returns the finished configuration, frozen, or throws a {@link ConfigError} with every fault, and the hints. */
  done<T extends object>(config: T, hints?: readonly string[]): Readonly<T>;
};

export function envReader(source: EnvSource): EnvReader {
  const faults: string[] = [];
  const faulty = new Set<string>();
  return {
    read(settings) {
      const values: Record<string, unknown> = {};
      for (const [key, setting] of Object.entries(settings)) {
        const before = faults.length;
        values[key] = readOne(setting, source, faults);
        if (faults.length > before) faulty.add(setting.name);
      }
      return Object.freeze(values) as ValuesOf<typeof settings>;
    },
    fault(text, variables = []) {
      if (variables.some((name) => faulty.has(name))) return;
      faults.push(text);
    },
    done(config, hints) {
      if (faults.length > 0) throw new ConfigError([...new Set(faults)], hints);
      return Object.freeze(config);
    },
  };
}

/** Reads every group, each under its name. */
export function readGroups<G extends Readonly<Record<string, Settings>>>(
  reader: EnvReader,
  groups: G,
): { readonly [Name in keyof G]: ValuesOf<G[Name]> } {
  const values = Object.entries(groups).map(([name, settings]) => [name, reader.read(settings)]);
  return Object.fromEntries(values) as { [Name in keyof G]: ValuesOf<G[Name]> };
}

function readOne(setting: Setting<unknown>, source: EnvSource, faults: string[]): unknown {
  const inline = setting.name.replace(/_FILE$/, '');
  if (isSecretFile(setting.name) && source.env[inline]?.trim()) {
    faults.push(
      `${inline} is a secret and is read from a file only: write it to a file and set ${setting.name}.`,
    );
  }
  const text = source.env[setting.name]?.trim() || setting.fallback;
  if (text === undefined) {
    if (setting.required) faults.push(`${setting.name} is not set: ${setting.about}.`);
    return undefined;
  }
  try {
    return setting.parse(text, source);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    faults.push(`${setting.name} ${error.message}`);
    return undefined;
  }
}

/** Whether the file that the variable names holds a secret. */
const isSecretFile = (name: string): boolean => /(PASSWORD|SECRET|TOKEN|JWT|KEY)_FILE$/.test(name);

/** The process's environment and file system as the source of settings. */
export function nodeSource(env: Readonly<Record<string, string | undefined>>): EnvSource {
  return { env, fileFault };
}

function fileFault(path: string): string | null {
  try {
    accessSync(path, constants.R_OK);
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown reason';
  }
}

/** The kinds of settings: each parses one text, and its error names what would be right. */

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

/** OAuth's scopes: one space between two (RFC 6749, 3.3), also where the variable has more, or several lines. */
export const scopes = (name: string, shape: Shape): Setting<string> =>
  setting(name, shape, (value) => value.split(/\s+/).join(' '));

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
export const MAX_TIMER_MS = 2_147_483_647;

/** Milliseconds that a timer is set to. */
export const milliseconds = (name: string, shape: Shape & { min?: number }): Setting<number> =>
  integer(name, { ...shape, max: MAX_TIMER_MS });

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
export function list<T>(
  name: string,
  shape: Shape,
  parseOne: (part: string, whole: string) => T,
): Setting<readonly T[]> {
  return setting(name, shape, (value) => {
    const parts = value
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
    if (parts.length === 0 && value !== '')
      throw new Fault(`is ${quote(value)}: give one or more, separated by commas.`);
    return Object.freeze(parts.map((part) => parseOne(part, value)));
  });
}

/** An absolute http or https address that paths can be put behind: without a slash at its end. */
export function url(name: string, shape: Shape): Setting<string> {
  return setting(name, shape, parseUrl);
}

function parseUrl(value: string): string {
  const parsed = URL.parse(value);
  // Before anything is quoted: the text holds a secret.
  const isAddress = parsed && /^https?:\/\//i.test(value);
  if (parsed?.username || parsed?.password || (!isAddress && value.includes('@'))) {
    throw new Fault('carries credentials: they go into their own variables.');
  }
  if (!isAddress) {
    throw new Fault(`is ${quote(value.replace(/[?#].*/s, '?…'))}: give an http or https address.`);
  }
  // In the text: what is parsed does not show an empty one.
  const [mark] = /[?#]/.exec(value) ?? [];
  if (mark !== undefined) {
    const part = mark === '?' ? 'query' : 'fragment';
    throw new Fault(`has a ${part}: give an address without one, as paths are put behind it.`);
  }
  return value.replace(/^https?:/i, (scheme) => scheme.toLowerCase()).replace(/\/+$/, '');
}

/** The path of a file or folder that can be read now. Its content is read where it is used, again when it changes. */
export function path(name: string, shape: Shape): Setting<string> {
  return setting(name, shape, (value, source) => {
    const fault = source.fileFault(value);
    // Where a secret was put in place of its file's path, the text is the secret.
    const what = isSecretFile(name) && !/^\.{0,2}\//.test(value) ? 'a file' : `${quote(value)},`;
    if (fault) throw unreadable(what, fault);
    return value;
  });
}

/** @param what a file, by its path or without it, as the object of a sentence */
export const unreadable = (what: string, fault: string): Fault =>
  new Fault(`names ${what} which can't be read (${fault}): mount it there or correct the path.`);

const quote = (value: string) => JSON.stringify(value);
