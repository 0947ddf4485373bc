import { artefactsOf } from './artefacts.ts';
import type { BuiltRelease } from './build-release.ts';
import type { Verdict } from './verify-release.ts';

/** What `make release` prints. */
export function builtLines({ source, base, image, key, dir }: BuiltRelease): string[] {
  const { version, revision, epoch } = source;
  const marks = [base.digest === null ? 'unpinned' : '', key === 'trial' ? 'trial' : ''].filter(Boolean);
  return [
    `Hookline ${version}, commit ${revision.slice(0, 12)} of ${new Date(epoch * 1000).toISOString()}`,
    `  image   ${image.manifest} (${artefactsOf(version).image})`,
    `  base    ${base.reference}`,
    `  folder  ${dir}`,
    ...marks.map(warningOf),
  ];
}

/** What `make verify-release` prints. */
export function verdictLines({ version, faults, imageDigest, baseImage, warnings }: Verdict): string[] {
  if (faults.length > 0) return [...faults, `Hookline ${version} is refused. Do not install it.`];
  return [
    `Hookline ${version} is what was signed: image, chart, SBOMs, provenance and checksums.`,
    `  image   ${imageDigest}`,
    `  base    ${baseImage}`,
    ...warnings.map(warningOf),
  ];
}

/** What a mark in the provenance means for those who install the release. */
function warningOf(mark: string): string {
  if (mark === 'unpinned')
    return 'UNPINNED: the base image is named by a tag, which can change. Release with --base NAME@sha256:…';
  return 'TRIAL: signed with a key that was made for a trial. It shows that no file was changed, not who built it.';
}
