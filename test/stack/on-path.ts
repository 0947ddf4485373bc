import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Env } from './stack.ts';

/** The program of that name in the folders of PATH, or null. */
export function onPath(program: string, env: Env): string | null {
  const folders = (env.PATH ?? '').split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, program)).find((file) => existsSync(file)) ?? null;
}
