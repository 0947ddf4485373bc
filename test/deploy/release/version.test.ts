import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { releaseVersion } from '../../../deploy/release/version.ts';
import { CHART } from '../../support/generated/chart-readme.ts';
import { readFile } from '../../support/generated/files.ts';

const REVISION = '0123456789abcdef0123456789abcdef01234567';
const version = (changelog: string) => releaseVersion(changelog, REVISION).version;
const unreleased = (released: string, ...kinds: string[]) =>
  `# Changelog\n\n## [Unreleased]\n\n${kinds.map((kind) => `### ${kind}\n\n- A change.\n\n`).join('')}## [${released}] - 2026-01-31\n\n### Added\n\n- All.\n`;

describe('the version of a release', () => {
  it('is the newest heading of the changelog when nothing is unreleased', () => {
    expect(releaseVersion(unreleased('1.2.3'), REVISION)).toEqual({
      version: '1.2.3',
      released: '1.2.3',
      isDevelopment: false,
    });
    expect(version('## [1.3.0] - 2026-02-01\n- x\n## [1.2.3] - 2026-01-31\n')).toBe('1.3.0');
  });

  it('is not changed by a kind without entries', () => {
    expect(version(unreleased('1.2.3').replace('## [1.2.3]', '### Added\n\n## [1.2.3]'))).toBe('1.2.3');
  });

  it.each([
    ['1.2.3', ['Fixed', 'Security'], '1.2.4'],
    ['1.2.3', ['Fixed', 'Added'], '1.3.0'],
    ['1.2.3', ['Action needed', 'Added'], '2.0.0'],
    ['1.2.3', ['Removed'], '2.0.0'],
    ['0.1.9', ['Action needed'], '0.2.0'],
    ['0.1.9', ['Changed'], '0.2.0'],
    ['0.1.9', ['Fixed'], '0.1.10'],
  ])('after %s with %s is a pre-release of %s, and names the commit', (released, kinds, next) => {
    // Digits alone with a leading 0 would be no semantic version: hence the g.
    expect(version(unreleased(released, ...kinds))).toBe(`${next}-dev.g0123456789ab`);
  });

  it('is refused where the changelog has none', () => {
    expect(() => version('# Changelog\n\n## [Unreleased]\n')).toThrow('Add a heading such as "## [0.1.0]');
  });
});

it('package.json, its lock file and the chart have the newest version of the changelog', () => {
  const { released } = releaseVersion(readFile('CHANGELOG.md'), REVISION);
  const chart = parse(readFile(`${CHART}/Chart.yaml`));
  const lock = JSON.parse(readFile('package-lock.json'));
  expect({
    'package.json': JSON.parse(readFile('package.json')).version,
    'package-lock.json': [lock.version, lock.packages[''].version],
    'Chart.yaml': [chart.version, chart.appVersion],
  }).toEqual({
    'package.json': released,
    'package-lock.json': [released, released],
    'Chart.yaml': [released, released],
  });
});
