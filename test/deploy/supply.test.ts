import { describe, expect, it } from 'vitest';
import { readFile } from '../support/generated/files.ts';

type Package = { dev?: boolean; integrity?: string; license?: string; hasInstallScript?: boolean };

const { packages }: { packages: Record<string, Package> } = JSON.parse(readFile('package-lock.json'));
/** What comes into the image. */
const shipped = Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev);
const pathsOf = (some: typeof shipped) => some.map(([path, { license }]) => `${path} ${license}`);

/** Those that ask for no more than to be named. */
const LICENCES = ['MIT', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', '0BSD', 'BlueOak-1.0.0'];

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

  it('have licences that Apache-2.0 goes along with', () => {
    const others = shipped.filter(([, { license = 'none' }]) => !LICENCES.includes(license));
    // MIT by its LICENSE file; its package.json names none.
    expect(others.map(([path]) => path)).toEqual(['node_modules/@kafkajs/confluent-schema-registry']);
  });
});
