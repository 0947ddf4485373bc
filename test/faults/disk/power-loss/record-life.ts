import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { RESERVE_NAME } from '../../../../src/spool/database.ts';
import { type DiskFault, shimEnv } from '../shim/build-shim.ts';
import { type DiskEvent, readLog } from '../shim/read-log.ts';
import type { Order, Script } from './recorded.ts';

export type Folder = ReadonlyMap<string, Buffer | 'folder'>;

export type Life = {
  /** What was on the disk before. */
  readonly before: Folder;
  readonly events: readonly DiskEvent[];
  /** What the process saw on it at its end. */
  readonly after: Folder;
};

/** The spool's folder below the watched one. It has to make it itself. */
export const SPOOL = 'volume/spool';

export type LifeOptions = {
  /** The number of its first delivery. */
  readonly first: number;
  readonly script: Script;
  /** Syncs of paths with this end answer well and do nothing, all the time. */
  readonly lie?: string;
  /** Rows are sealed with it; null where there is none. */
  readonly sealingKey?: string | null;
};

/**
 * Runs a script once on the folder `place/disk`, as it is, and records what it does to it.
 */
export async function recordLife(
  place: string,
  library: string,
  { first, script, lie, sealingKey = null }: LifeOptions,
): Promise<Life> {
  const root = join(place, 'disk');
  const log = join(place, 'log');
  const marks = join(place, 'marks');
  const fault = join(place, 'fault');
  mkdirSync(root, { recursive: true });
  for (const file of [log, fault]) rmSync(file, { force: true });
  if (lie !== undefined) writeFileSync(fault, `${'sync lie' satisfies DiskFault} ${lie}`);
  const before = readFolder(root);
  const order: Order = {
    place: { dir: join(root, SPOOL), marksFile: marks, faultFile: fault, sealingKey },
    first,
    script,
  };
  const program = join(import.meta.dirname, 'recorded.ts');
  const child = spawn(process.execPath, [program, JSON.stringify(order)], {
    env: { PATH: process.env.PATH, ...shimEnv(library, { root, log, marks, fault }) },
    stdio: 'inherit',
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${JSON.stringify(script)} ended with ${code}`);
  const events = readLog(log).filter((event) => !('path' in event && isReserve(event.path)));
  return { before, events, after: readFolder(root) };
}

/** Nobody reads it: what a loss of power leaves of it is of no matter. */
const isReserve = (path: string) => basename(path) === RESERVE_NAME;

/** A folder's content, by path. */
export function readFolder(root: string): Folder {
  const content = new Map<string, Buffer | 'folder'>();
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (isReserve(path)) continue;
    content.set(relative(root, path), entry.isDirectory() ? 'folder' : readFileSync(path));
  }
  return content;
}
