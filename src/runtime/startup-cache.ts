import { closeSync, fsyncSync, openSync, readFileSync, renameSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** What a process keeps for the next one, as JSON. It can do without: neither call throws. */
export type CacheFile = {
  /**
   * What was written last, as `check` makes it of the file's JSON; undefined where there is no file, or a damaged one.
   * @param check throws where the content is not what was written
   */
  read<T>(check: (content: unknown) => T): T | undefined;
  write(content: unknown): void;
};

/** What goes wrong with a file beside the spool. The process goes on without it. */
export type CacheFileObserver = {
  /** It can't be written: a later start knows less. */
  notWritten(path: string, error: unknown): void;
  /** It exists and cannot be used: it is ignored, and written again. */
  damaged(path: string, error: unknown): void;
};

/** It holds what one process knows, some bytes for each subscription: what is larger is something else. */
const MAX_BYTES = 256 * 1024 * 1024;

/**
 * A file beside the spool, readable by its owner alone. It is replaced atomically: a reader finds the old content or the
 * new one.
 */
export function cacheFile(dir: string, name: string, observer: CacheFileObserver): CacheFile {
  const path = join(dir, name);
  return {
    read(check) {
      try {
        const { size } = statSync(path);
        if (size > MAX_BYTES) throw new Error(`it has ${size} bytes`);
        return check(parse(readFileSync(path, 'utf8')));
      } catch (error) {
        // Absent at the first start.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') observer.damaged(path, error);
        return undefined;
      }
    },
    write(content) {
      try {
        writeSynced(`${path}.next`, `${JSON.stringify(content)}\n`);
        renameSync(`${path}.next`, path);
      } catch (error) {
        observer.notWritten(path, error);
      }
    },
  };
}

/** The parser's own message quotes what it has read. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('it is no JSON');
  }
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
