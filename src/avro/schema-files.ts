import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { HooklineError } from '../core/errors.ts';

/** The folder that comes with Hookline. */
const OWN = resolve(import.meta.dirname, '../../schemas');

/**
 * The *.avsc files of SCHEMAS_DIR/events or /commands, by name.
 * @throws HooklineError SCHEMA_INVALID where the folder can't be read or holds none
 */
export function readSchemaFiles(dir: string | undefined, kind: 'events' | 'commands'): SchemaFile[] {
  const folder = join(dir ?? OWN, kind);
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith('.avsc'));
    if (names.length === 0) throw new Error('holds no *.avsc file');
    return names
      .sort()
      .map((name) => ({ name: join(kind, name), text: readFileSync(join(folder, name), 'utf8') }));
  } catch (error) {
    throw new HooklineError('SCHEMA_INVALID', `${folder}: ${(error as Error).message}`, {
      cause: error,
      ...(dir !== undefined && {
        remedy: 'name a folder in SCHEMAS_DIR that has events/*.avsc and commands/*.avsc',
      }),
    });
  }
}

/**
 * The topics that the files of SCHEMAS_DIR/events name, without the prefix. None where a file cannot be read, or there are
 * none: not every process has them.
 */
export function eventTopicsIn(dir: string | undefined): string[] {
  try {
    return readSchemaFiles(dir, 'events').flatMap(({ text }) => {
      const { topic }: { topic?: unknown } = JSON.parse(text);
      return typeof topic === 'string' ? [topic] : [];
    });
  } catch {
    return [];
  }
}

/** The schema of probes. It always comes with Hookline: SCHEMAS_DIR holds what an installation may change. */
export function readProbeFile(): SchemaFile {
  const name = join('probe', 'probe.avsc');
  return { name, text: readFileSync(join(OWN, name), 'utf8') };
}

/** What is wrong with a schema, and at which field (dotted path; empty for the root). */
export class SchemaFault extends Error {
  readonly field: string;
  constructor(field: string, message: string) {
    super(message);
    this.name = 'SchemaFault';
    this.field = field;
  }
}

export type SchemaFile = { readonly name: string; readonly text: string };

/** Any failure to read a schema file as SCHEMA_INVALID that names the file and, where known, the field. */
export function schemaInvalid(file: string, error: unknown): HooklineError {
  const field = error instanceof SchemaFault && error.field !== '' ? `, field ${error.field}` : '';
  return new HooklineError('SCHEMA_INVALID', `${file}${field}: ${(error as Error).message}`, {
    cause: error,
  });
}
