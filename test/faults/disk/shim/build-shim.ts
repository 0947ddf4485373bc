import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onPath } from '../../../stack/on-path.ts';

const SOURCE = join(import.meta.dirname, 'disk-shim.c');

/** Compiles the shim into a folder of its own and gives the library's path. */
export function buildShim(): string {
  const compiler = onPath('cc', process.env);
  if (process.platform !== 'linux' || compiler === null)
    throw new Error('The tests of failing disks need Linux and a C compiler, cc, in PATH.');
  const library = join(mkdtempSync(join(tmpdir(), 'hookline-shim-')), 'disk-shim.so');
  const flags = ['-shared', '-fPIC', '-O2', '-Wall', '-Wextra', '-Werror'];
  execFileSync(compiler, [...flags, '-o', library, SOURCE, '-ldl', '-lpthread']);
  return library;
}

/** What `DISK_SHIM_FAULT` may hold; after a space it may name the end of the paths concerned. */
export type DiskFault = 'sync EIO' | 'write EIO' | 'write ENOSPC' | 'sync lie';

/** The environment under which a process runs on the shim's disk. */
export function shimEnv(
  library: string,
  { root, log, marks, fault }: { root: string; log?: string; marks?: string; fault?: string },
): Record<string, string> {
  return {
    LD_PRELOAD: library,
    DISK_SHIM_ROOT: root,
    ...(log && { DISK_SHIM_LOG: log }),
    ...(marks && { DISK_SHIM_MARKS: marks }),
    ...(fault && { DISK_SHIM_FAULT: fault }),
  };
}
