import { accessSync, constants } from 'node:fs';

/**
 * The environment as an argument: a group of settings is read once, every fault is collected, and each fault
 * names the variable and the mend. Nothing here reads the process: a `main.ts` hands its environment in.
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

/** What is wrong with one variable, in words that name the mend. */
export class Fault extends Error {}

/** All faults of a configuration at once. A process that gets it exits with {@link CONFIG_EXIT_CODE}. */
export class ConfigError extends Error {
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(
      `The configuration has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n  ${faults.join('\n  ')}`,
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
  /** Adds a fault that only several values together show. */
  fault(text: string): void;
  /** Returns the finished configuration, frozen, or throws a {@link ConfigError} with every fault. */
  done<T extends object>(config: T): Readonly<T>;
};

export function envReader(source: EnvSource): EnvReader {
  const faults: string[] = [];
  return {
    read(settings) {
      const values: Record<string, unknown> = {};
      for (const [key, setting] of Object.entries(settings)) values[key] = readOne(setting, source, faults);
      return Object.freeze(values) as ValuesOf<typeof settings>;
    },
    fault(text) {
      faults.push(text);
    },
    done(config) {
      if (faults.length > 0) throw new ConfigError([...new Set(faults)]);
      return Object.freeze(config);
    },
  };
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
export const isSecretFile = (name: string): boolean => /(PASSWORD|SECRET|TOKEN|JWT|KEY)_FILE$/.test(name);

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
