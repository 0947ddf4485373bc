import { ReleaseError } from './release-error.ts';

export type ReleaseVersion = {
  /** A semantic version, without `v`. */
  readonly version: string;
  /** The newest version that the changelog has a heading for. */
  readonly released: string;
  /** Whether the changelog has entries that belong to no version yet. */
  readonly isDevelopment: boolean;
};

const HEADING = /^## \[([^\]]+)\]/gm;
const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/;

/** Kinds of entries by what they do to a version from 1.0.0 on. Before it, what would be major is minor. */
const MAJOR = ['Action needed', 'Removed'];
const MINOR = ['Added', 'Changed', 'Deprecated'];

/**
 * The version that a release of this commit has. Without entries under [Unreleased] it is the newest heading of the
 * changelog; with entries it is a pre-release of the next version that they lead to, such as `0.2.0-dev.g1a2b3c4d5e6f`.
 * @param changelog CHANGELOG.md, in the form of Keep a Changelog
 * @param revision the commit, 40 hexadecimal digits
 * @throws ReleaseError where no heading is a semantic version
 */
export function releaseVersion(changelog: string, revision: string): ReleaseVersion {
  const sections = sectionsOf(changelog);
  const released = sections.find(({ name }) => VERSION.test(name))?.name;
  if (released === undefined)
    throw new ReleaseError('CHANGELOG.md has no version. Add a heading such as "## [0.1.0] - 2026-01-31".');
  const kinds = kindsOf(sections.find(({ name }) => name === 'Unreleased')?.text ?? '');
  if (kinds.length === 0) return { version: released, released, isDevelopment: false };
  // The g of `git describe`: an identifier of digits alone must not begin with 0.
  const version = `${nextVersion(released, kinds)}-dev.g${revision.slice(0, 12)}`;
  return { version, released, isDevelopment: true };
}

function sectionsOf(changelog: string): { name: string; text: string }[] {
  const headings = [...changelog.matchAll(HEADING)];
  return headings.map(({ 1: name = '', index }, n) => ({
    name,
    text: changelog.slice(index, headings[n + 1]?.index),
  }));
}

/** The kinds of a section that have entries. */
const kindsOf = (section: string) =>
  section
    .split(/^### /m)
    .slice(1)
    .filter((part) => /^- /m.test(part))
    .map((part) => part.split('\n')[0]?.trim() ?? '');

function nextVersion(released: string, kinds: readonly string[]): string {
  const [major = 0, minor = 0, patch = 0] = released.split('.').map(Number);
  const isMajor = kinds.some((kind) => MAJOR.includes(kind));
  if (isMajor && major > 0) return `${major + 1}.0.0`;
  const isMinor = isMajor || kinds.some((kind) => MINOR.includes(kind));
  return isMinor ? `${major}.${minor + 1}.0` : `${major}.${minor}.${patch + 1}`;
}
