import { accessSync, constants } from 'node:fs';
import type { EnvSource } from './env.ts';

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
