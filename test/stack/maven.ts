import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Jdk } from './find-jdk.ts';
import { underLock } from './lock.ts';
import { lastLines } from './log-tail.ts';
import { onPath } from './on-path.ts';
import type { Env } from './stack.ts';
import { StackError } from './stack-error.ts';

/** What a POM brings, and how it is told where to put it. */
export type Bundle = {
  /** In words, with its size. */
  readonly what: string;
  readonly pom: string;
  /** The property that names the folder. */
  readonly folderProperty: string;
  readonly args: readonly string[];
};

/** Minutes on a slow line. Maven takes what it already has. */
const DOWNLOAD_MS = 15 * 60_000;

/** Named after the POM's content, so that a changed one is downloaded anew and an unchanged one never. */
function folderOf(dir: string, { pom, args }: Bundle): string {
  const hash = createHash('sha256').update(readFileSync(pom)).update(args.join());
  return join(dir, `parts-${hash.digest('hex').slice(0, 12)}`);
}

export const isDownloaded = (dir: string, bundle: Bundle): boolean => existsSync(folderOf(dir, bundle));

export type Download = {
  dir: string;
  jdk: Jdk;
  env: Env;
  signal: AbortSignal;
  onProgress: (line: string) => void;
};

/** The folder with what the POM brings, downloaded unless it is there. */
export async function fetchBundle(bundle: Bundle, download: Download): Promise<string> {
  const folder = folderOf(download.dir, bundle);
  if (existsSync(folder)) return folder;
  const { signal, onProgress } = download;
  const onWait = () => onProgress('waiting for another process that downloads it');
  const lock = join(download.dir, 'download.lock');
  await underLock(lock, { deadlineMs: DOWNLOAD_MS, signal, onWait }, async () => {
    if (existsSync(folder)) return;
    onProgress(`downloading ${bundle.what} with Maven, once`);
    const unfinished = `${folder}.unfinished`;
    rmSync(unfinished, { recursive: true, force: true });
    mkdirSync(unfinished, { recursive: true });
    await runMaven(bundle, download, unfinished);
    renameSync(unfinished, folder);
  });
  return folder;
}

async function runMaven(bundle: Bundle, { jdk, env, signal }: Download, folder: string): Promise<void> {
  const maven = onPath('mvn', env);
  if (maven === null) throw new StackError('Maven (mvn) is not on the PATH.');
  const args = [
    '-q',
    '-B',
    '-f',
    bundle.pom,
    'package',
    `-D${bundle.folderProperty}=${folder}`,
    ...bundle.args,
  ];
  try {
    await promisify(execFile)(maven, args, {
      env: { ...env, JAVA_HOME: env.JAVA_HOME || jdk.home },
      timeout: DOWNLOAD_MS,
      maxBuffer: 64 * 1024 * 1024,
      signal,
    });
  } catch (error) {
    signal.throwIfAborted();
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new StackError(`Maven can't bring ${bundle.what}:\n${lastLines(stdout + stderr)}`);
  }
}
