import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { HooklineError } from '../core/errors.ts';
import type { SchemaFile } from './event-schema.ts';

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
    throw new HooklineError('SCHEMA_INVALID', `${folder}: ${(error as Error).message}`, { cause: error });
  }
}
