/** The files of a release, by their roles, and what a person calls them. */
export const ROLES = {
  image: 'image',
  chart: 'chart',
  imageSbom: 'SBOM of the image',
  chartSbom: 'SBOM of the chart',
  provenance: 'provenance',
} as const;

export type Role = keyof typeof ROLES;
export type Artefacts = Readonly<Record<Role, string>>;

export const CHECKSUMS = 'SHA256SUMS';
export const PUBLIC_KEY = 'cosign.pub';

/** A Sigstore bundle beside each file: its signature; for the provenance, the signed statement. */
export const bundleOf = (file: string): string => `${file}.sigstore.json`;

/** The file names of a version. */
export const artefactsOf = (version: string): Artefacts => ({
  image: `hookline-${version}.oci.tar`,
  chart: `hookline-${version}.tgz`,
  imageSbom: `hookline-${version}.image.cdx.json`,
  chartSbom: `hookline-${version}.chart.cdx.json`,
  provenance: `hookline-${version}.provenance.json`,
});

/** The version whose files are in a folder of these names, or null. */
export function versionIn(names: readonly string[]): string | null {
  const found = names.map((name) =>
    /^hookline-(.+)\.(oci\.tar|image\.cdx\.json|provenance\.json)$/.exec(name),
  );
  return found.find((match) => match !== null)?.[1] ?? null;
}

/** Lines as `sha256sum` writes and checks them, in the order of the names. */
export const checksumLines = (sums: ReadonlyMap<string, string>): string =>
  [...sums]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, sum]) => `${sum}  ${name}\n`)
    .join('');

/** Each file's SHA-256 by its name. Lines of another form are left out. */
export const readChecksums = (text: string): Map<string, string> =>
  new Map([...text.matchAll(/^([0-9a-f]{64}) [ *](.+)$/gm)].map(([, sum = '', name = '']) => [name, sum]));
