import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { KeptFile } from '../core/kept-file.ts';

/**
 * A file beside the spool, for its owner's eyes alone. It is written in one stroke: a reader finds the old content or the
 * new one.
 * @param onFault told when it can't be written: a later start then knows less
 */
export function keptBeside(dir: string, name: string, onFault: (error: unknown) => void): KeptFile {
  const path = join(dir, name);
  return {
    read() {
      try {
        return JSON.parse(readFileSync(path, 'utf8'));
      } catch {
        // Absent at the first start, or not what it should be.
        return undefined;
      }
    },
    write(content) {
      try {
        writeSynced(`${path}.next`, `${JSON.stringify(content)}\n`);
        renameSync(`${path}.next`, path);
      } catch (error) {
        onFault(error);
      }
    },
  };
}

function writeSynced(path: string, text: string): void {
  const file = openSync(path, 'w', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
