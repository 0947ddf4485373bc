import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findJdks, javaMajor, newestOf } from './find-jdk.ts';

describe('the version of a Java', () => {
  it.each([
    ['openjdk version "17.0.15" 2025-04-15', 17],
    ['openjdk version "25" 2025-09-16', 25],
    ['openjdk version "26-ea" 2026-03-17', 26],
    ['java version "1.8.0_392"', 8],
    ['IMPLEMENTOR="Eclipse Adoptium"\nJAVA_VERSION="25.0.3"\nJAVA_VERSION_DATE="2026-04-21"', 25],
    ['The operation couldn’t be completed. Unable to locate a Java Runtime.', null],
    ['', null],
  ])('in %j is %s', (text, major) => {
    expect(javaMajor(text)).toBe(major);
  });

  it('counts as a number, so that 9 is older than 17', () => {
    const jdks = [17, 9, 25, 21].map((major) => ({ home: `/java/${major}`, major }));
    expect(newestOf(jdks)).toEqual({ home: '/java/25', major: 25 });
    expect(newestOf([])).toBeNull();
  });
});

describe('finding Javas', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'jdks-'));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  function plant(path: string, java: string, release?: string): string {
    const home = join(root, path);
    mkdirSync(join(home, 'bin'), { recursive: true });
    writeFileSync(join(home, 'bin/java'), `#!/bin/sh\n${java}\n`);
    chmodSync(join(home, 'bin/java'), 0o755);
    if (release) writeFileSync(join(home, 'release'), release);
    return home;
  }

  it('looks in JAVA_HOME, on the PATH and in the usual folders, and asks a Java that has no release file', async () => {
    const named = plant('named', 'exit 1', 'JAVA_VERSION="17.0.1"');
    const usual = plant('usual/jdk-21/Contents/Home', 'echo \'openjdk version "21.0.2"\' >&2');
    const onPath = plant('path', 'exit 1', 'JAVA_VERSION="11.0.1"');
    mkdirSync(join(root, 'usual/no-java'));
    const env = { JAVA_HOME: named, PATH: join(onPath, 'bin') };
    const jdks = await findJdks(env, [{ folder: join(root, 'usual'), inside: 'Contents/Home' }]);
    expect(jdks).toEqual([
      { home: named, major: 17 },
      { home: usual, major: 21 },
      { home: onPath, major: 11 },
    ]);
  });

  it('passes over a Java that fails', async () => {
    plant('usual/broken', 'exit 1');
    expect(await findJdks({}, [{ folder: join(root, 'usual') }])).toEqual([]);
  });
});
