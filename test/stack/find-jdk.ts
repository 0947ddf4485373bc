import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { onPath } from './on-path.ts';
import type { Env } from './stack.ts';

/** A Java that can run programs: a JRE will do. */
export type Jdk = { home: string; major: number };

/** Folders that hold Java homes, and what leads from an entry to the home. */
const USUAL_FOLDERS = [
  { folder: '/usr/lib/jvm' },
  { folder: '/opt/java' },
  { folder: join(homedir(), '.sdkman/candidates/java') },
  { folder: '/Library/Java/JavaVirtualMachines', inside: 'Contents/Home' },
];

/**
 * The major version out of `java -version` or a home's `release` file, or null.
 * "1.8.0_392" is 8, "17.0.15" is 17, "25-ea" is 25.
 */
export function javaMajor(text: string): number | null {
  const version = /(?:version "|JAVA_VERSION=")(?:1\.)?(\d+)/.exec(text)?.[1];
  return version === undefined ? null : Number(version);
}

export const newestOf = (jdks: readonly Jdk[]): Jdk | null =>
  jdks.reduce<Jdk | null>((best, jdk) => (best && best.major >= jdk.major ? best : jdk), null);

export async function findJdks(env: Env, usualFolders = USUAL_FOLDERS): Promise<Jdk[]> {
  const found = await Promise.all([...new Set(candidates(env, usualFolders))].map(readJdk));
  return found.filter((jdk) => jdk !== null);
}

function candidates(env: Env, usualFolders: typeof USUAL_FOLDERS): string[] {
  const java = onPath('java', env);
  const homes = usualFolders.flatMap(({ folder, inside = '' }) =>
    existsSync(folder) ? readdirSync(folder).map((entry) => join(folder, entry, inside)) : [],
  );
  return [env.JAVA_HOME ?? '', ...homes, java ? dirname(dirname(realpathSync(java))) : '']
    .filter((home) => home !== '' && existsSync(join(home, 'bin/java')))
    .map((home) => realpathSync(home));
}

async function readJdk(home: string): Promise<Jdk | null> {
  const release = join(home, 'release');
  const stated = existsSync(release) ? javaMajor(readFileSync(release, 'utf8')) : null;
  const major = stated ?? (await askJava(home));
  return major === null ? null : { home, major };
}

/** macOS has a `java` that only offers to install one: it fails or says nothing that we understand. */
async function askJava(home: string): Promise<number | null> {
  const asked = promisify(execFile)(join(home, 'bin/java'), ['-version'], { timeout: 5_000 });
  return asked.then(
    ({ stderr, stdout }) => javaMajor(stderr + stdout),
    () => null,
  );
}
