import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ReleaseError } from './release-error.ts';
import { run } from './run.ts';
import { type ReleaseVersion, releaseVersion } from './version.ts';

/** The commit that a release is made of. */
export type Source = ReleaseVersion & {
  /** 40 hexadecimal digits. */
  readonly revision: string;
  /** The time of the commit, in seconds since 1970: all files of a release have it (SOURCE_DATE_EPOCH). */
  readonly epoch: number;
  /** Where the commit can be fetched, or null: a path of a machine, or an address with a password, is not told. */
  readonly repository: string | null;
};

const git = async (root: string, ...args: string[]) => (await run('git', args, { cwd: root })).trim();

/**
 * What is checked out in `root`.
 * @throws ReleaseError where it is no commit as it is, or its version is another commit's already
 */
export async function openSource(root: string): Promise<Source> {
  const changed = await git(root, 'status', '--porcelain', '--untracked-files=no');
  if (changed !== '')
    throw new ReleaseError(
      `Files differ from the commit that is checked out:\n${changed}\nA release is built from a commit: commit or stash them.`,
    );
  return readSource(root);
}

/** The same, whatever the files on disk are: enough to find a release that was built. */
export async function readSource(root: string): Promise<Source> {
  const revision = await git(root, 'rev-parse', 'HEAD');
  const changelog = await git(root, 'show', 'HEAD:CHANGELOG.md');
  const version = releaseVersion(changelog, revision);
  const epoch = Number(await git(root, 'show', '--no-patch', '--format=%ct', 'HEAD'));
  if (!version.isDevelopment) await refuseTakenTag(root, version.version, revision);
  const origin = await git(root, 'config', '--default', '', '--get', 'remote.origin.url');
  return { ...version, revision, epoch, repository: publicAddress(origin) };
}

async function refuseTakenTag(root: string, version: string, revision: string): Promise<void> {
  const tag = `v${version}`;
  if ((await git(root, 'tag', '--list', tag)) === '') return;
  const tagged = await git(root, 'rev-list', '-n', '1', tag);
  if (tagged !== revision)
    throw new ReleaseError(
      `${version} is the release of commit ${tagged} (tag ${tag}), and ${revision} is checked out. Check out ${tag}, or add what changed to CHANGELOG.md under [Unreleased].`,
    );
}

/** An address that anybody may know, or null. */
export function publicAddress(origin: string): string | null {
  const url = URL.parse(origin);
  return url?.protocol === 'https:' && url.username === '' && url.password === '' ? url.href : null;
}

/**
 * Writes the commit's files into a folder, with modes and times that depend on the commit alone, and the release's
 * version in package.json.
 */
export async function exportSource(root: string, { revision, version }: Source, to: string): Promise<void> {
  mkdirSync(to, { recursive: true });
  const archive = `${to}.tar`;
  await run('git', ['-c', 'tar.umask=0022', 'archive', '--output', archive, revision], { cwd: root });
  await run('tar', ['--extract', '--preserve-permissions', '--file', archive, '--directory', to]);
  for (const name of ['package.json', 'package-lock.json']) setVersion(join(to, name), version);
}

function setVersion(file: string, version: string): void {
  if (!existsSync(file)) throw new ReleaseError(`The commit has no ${file.split('/').at(-1)}.`);
  const content = JSON.parse(readFileSync(file, 'utf8'));
  content.version = version;
  if (content.packages?.['']) content.packages[''].version = version;
  writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);
}
