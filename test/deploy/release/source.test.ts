import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exportSource, openSource, publicAddress } from '../../../deploy/release/source.ts';

const RELEASED = '# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-01-31\n';
let root: string;
const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
const write = (name: string, text: string) => writeFileSync(join(root, name), text);
const commit = () => {
  git('add', '.');
  git('-c', 'user.name=T', '-c', 'user.email=t@example.org', 'commit', '--quiet', '--message', 'A commit');
};

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'hookline-source-'));
  git('init', '--quiet');
  write('CHANGELOG.md', RELEASED);
  write('package.json', '{ "version": "1.2.3" }');
  write('package-lock.json', '{ "version": "1.2.3", "packages": { "": { "version": "1.2.3" } } }');
  commit();
});
afterEach(() => rmSync(root, { recursive: true }));

describe('the source of a release', () => {
  it('is a commit, with its time', async () => {
    const { version, revision, epoch, repository } = await openSource(root);
    expect([version, revision, repository]).toEqual(['1.2.3', git('rev-parse', 'HEAD'), null]);
    expect(String(epoch)).toBe(git('log', '-1', '--format=%ct'));
  });

  it('is refused while files differ from the commit', async () => {
    write('package.json', '{}');
    await expect(openSource(root)).rejects.toThrow(/package\.json\n.*commit or stash them/);
  });

  it('is refused when its version is the tag of another commit', async () => {
    git('tag', 'v1.2.3');
    expect((await openSource(root)).version).toBe('1.2.3');
    write('a.txt', 'a');
    commit();
    await expect(openSource(root)).rejects.toThrow('1.2.3 is the release of commit');
  });

  it('is exported with modes of its own and the version of the release, whatever the umask of the clone', async () => {
    for (const name of ['package.json', 'CHANGELOG.md']) chmodSync(join(root, name), 0o600);
    const source = { ...(await openSource(root)), version: '1.3.0-dev.gabc' };
    const to = join(root, 'exported');
    await exportSource(root, source, to);
    expect(statSync(join(to, 'CHANGELOG.md')).mode & 0o777).toBe(0o644);
    expect(JSON.parse(readFileSync(join(to, 'package.json'), 'utf8')).version).toBe('1.3.0-dev.gabc');
    expect(JSON.parse(readFileSync(join(to, 'package-lock.json'), 'utf8')).packages[''].version).toBe(
      '1.3.0-dev.gabc',
    );
  });
});

it.each([
  ['https://example.org/hookline.git', 'https://example.org/hookline.git'],
  ['https://user:secret@example.org/hookline.git', null],
  ['/home/me/hookline', null],
  ['git@example.org:hookline.git', null],
  ['', null],
])('the address %s of a repository is told as %s', (origin, told) => {
  expect(publicAddress(origin)).toBe(told);
});
