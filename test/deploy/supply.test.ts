import { describe, expect, it } from 'vitest';
import { readFile } from '../support/generated/files.ts';
import { isAllowed, licencesOf } from '../support/supply/licences.ts';

type Package = { dev?: boolean; integrity?: string; license?: string; hasInstallScript?: boolean };

const { packages }: { packages: Record<string, Package> } = JSON.parse(readFile('package-lock.json'));
/** What comes into the image. */
const shipped = Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev);
const pathsOf = (some: typeof shipped) => some.map(([path, { license }]) => `${path} ${license}`);

it('the package is private, and its lock file records no download address', () => {
  expect(JSON.parse(readFile('package.json')).private).toBe(true);
  expect(readFile('package-lock.json')).not.toMatch(/"resolved"/);
});

describe('the packages that are shipped', () => {
  it('are not many', () => {
    expect(shipped.length).toBeGreaterThan(20);
    expect(shipped.length).toBeLessThan(200);
  });

  it('are known by their content: a changed one is not installed', () => {
    expect(pathsOf(shipped.filter(([, { integrity }]) => !integrity?.startsWith('sha512-')))).toEqual([]);
  });

  it('run no script when they are installed: those that have one are not allowed to, here or in the image', () => {
    const { allowScripts } = JSON.parse(readFile('package.json'));
    const withScript = shipped.filter(([, { hasInstallScript }]) => hasInstallScript);
    const allowed = withScript.filter(([path]) => allowScripts[path.replace('node_modules/', '')] !== false);
    expect(pathsOf(allowed)).toEqual([]);
    expect(readFile('deploy/Dockerfile')).toContain('npm ci --omit=dev --ignore-scripts');
  });
});

describe('the licences', () => {
  it('of all packages are allowed', () => {
    const all = licencesOf(readFile('package-lock.json'));
    expect(all.length).toBeGreaterThan(300);
    expect(all.filter((one) => !isAllowed(one))).toEqual([]);
  });

  it.each([
    ['GPL-3.0-only', true, false],
    ['MPL-2.0', true, false],
    ['MPL-2.0', false, true],
    ['(MIT OR GPL-3.0-only)', true, true],
    ['MIT AND GPL-3.0-only', true, false],
    ['unknown', false, false],
  ])('%s in the image (%s) is allowed: %s', (licence, isShipped, expected) => {
    expect(isAllowed({ name: 'a', version: '1.0.0', licence, isShipped })).toBe(expected);
  });

  it('of a package that states none are unknown until somebody has read it', () => {
    const lock = {
      packages: {
        '': {},
        'node_modules/a': { version: '1.0.0' },
        'node_modules/ssh2': { version: '1.0.0', dev: true },
      },
    };
    expect(licencesOf(JSON.stringify(lock)).map(({ licence }) => licence)).toEqual(['unknown', 'MIT']);
  });

  it('stay in the image: the Dockerfile removes documentation, not licences', () => {
    expect(readFile('deploy/Dockerfile')).toContain("! -iname 'licen[cs]e*' ! -iname 'notice*' -delete");
  });
});
