import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Jdk } from './find-jdk.ts';
import { underLock } from './lock.ts';
import { lastLines } from './log-tail.ts';
import { onPath } from './on-path.ts';
import type { Env } from './stack.ts';
import { StackError } from './stack-error.ts';

const POM = resolve(import.meta.dirname, '../../../deploy/local-stack/pom.xml');

export const OLDEST_JAVA = 17;
/** The registry that the pom names needs Java 21. This is the newest one that was seen to run on Java 17. */
const REGISTRY_FOR_JAVA_17 = '3.0.9';

/** Where Kafka's jars are, and the registry. */
export type Parts = { kafka: string; registry: string };

/** Minutes on a slow line: it is 200 MB. Maven takes what it already has. */
const DOWNLOAD_MS = 15 * 60_000;

const registryArgs = (jdk: Jdk): string[] =>
  jdk.major >= 21 ? [] : [`-Dregistry.version=${REGISTRY_FOR_JAVA_17}`];

/** The folder is named after the pom's content, so that a changed pom is downloaded anew and an unchanged one never. */
function folderOf(dir: string, jdk: Jdk): string {
  const hash = createHash('sha256').update(readFileSync(POM)).update(registryArgs(jdk).join());
  return join(dir, `parts-${hash.digest('hex').slice(0, 12)}`);
}

const partsIn = (folder: string): Parts => ({
  kafka: join(folder, 'kafka'),
  registry: join(folder, 'registry'),
});

export const areDownloaded = (dir: string, jdk: Jdk): boolean => existsSync(folderOf(dir, jdk));

export type Download = {
  dir: string;
  jdk: Jdk;
  env: Env;
  signal: AbortSignal;
  onProgress: (line: string) => void;
};

/** Kafka and the registry as Maven brings them, downloaded unless they are there. */
export async function fetchParts(download: Download): Promise<Parts> {
  const folder = folderOf(download.dir, download.jdk);
  if (existsSync(folder)) return partsIn(folder);
  const { signal, onProgress } = download;
  const onWait = () => onProgress('waiting for another process that downloads them');
  await underLock(
    join(download.dir, 'download.lock'),
    { deadlineMs: DOWNLOAD_MS, signal, onWait },
    async () => {
      if (existsSync(folder)) return;
      onProgress('downloading Kafka and the schema registry with Maven, once: 200 MB');
      const unfinished = `${folder}.unfinished`;
      rmSync(unfinished, { recursive: true, force: true });
      mkdirSync(unfinished, { recursive: true });
      await runMaven(download, unfinished);
      renameSync(unfinished, folder);
    },
  );
  return partsIn(folder);
}

async function runMaven({ jdk, env, signal }: Download, folder: string): Promise<void> {
  const maven = onPath('mvn', env);
  if (maven === null) throw new StackError('Maven (mvn) is not on the PATH.');
  const args = ['-q', '-B', '-f', POM, 'package', `-DstackDir=${folder}`, ...registryArgs(jdk)];
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
    throw new StackError(`Maven can't bring Kafka and the schema registry:\n${lastLines(stdout + stderr)}`);
  }
}
