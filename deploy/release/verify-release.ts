import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Artefacts,
  artefactsOf,
  bundleOf,
  CHECKSUMS,
  PUBLIC_KEY,
  ROLES,
  type Role,
  readChecksums,
  versionIn,
} from './artefacts.ts';
import type { Verifier } from './cosign.ts';
import { sha256OfFile } from './digest.ts';
import type { Statement } from './provenance.ts';
import { manifestDigestOf, readOciArchive } from './read-oci-archive.ts';
import { ReleaseError } from './release-error.ts';
import type { Bom } from './sbom.ts';

export type Verdict = {
  readonly version: string;
  /** Each a sentence that names the file and says why it is refused. Empty: the release is what was signed. */
  readonly faults: readonly string[];
  /** The digest to pull and deploy the image by; null where it is refused. */
  readonly imageDigest: string | null;
  readonly baseImage: string | null;
  /** Marks that the provenance has: `unpinned`, `trial`. */
  readonly warnings: readonly string[];
};

/**
 * Verifies each file of a release by one public key, without a network: signatures, checksums, and that image, chart,
 * SBOMs and provenance speak of each other.
 * @param expected the version that is wanted, or null for any: another one that was signed too is refused
 * @throws ReleaseError where the folder holds no release
 */
export async function verifyRelease(
  dir: string,
  verifier: Verifier,
  expected: string | null = null,
): Promise<Verdict> {
  const names = existsSync(dir) ? readdirSync(dir) : [];
  const version = versionIn(names);
  if (version === null)
    throw new ReleaseError(`${dir} holds no release. Build one with make release, or name its folder.`);
  if (expected !== null && version !== expected)
    throw new ReleaseError(
      `${dir} holds the release ${version}, and ${expected} is wanted. Build it with make release.`,
    );
  const artefacts = artefactsOf(version);
  const changed = await changedFiles(dir, names, artefacts, verifier);
  const unsigned = await unsignedFiles(dir, artefacts, new Set(changed.keys()), verifier);
  const faults = [...changed.values(), ...unsigned.values()].flat();
  // What is not signed is not read.
  if (faults.length > 0) return { version, faults, imageDigest: null, baseImage: null, warnings: [] };
  return readSigned(dir, version, artefacts);
}

const nameOf = (artefacts: Artefacts, name: string) => {
  const role = (Object.keys(artefacts) as Role[]).find((one) => artefacts[one] === name);
  return role === undefined ? name : `${ROLES[role]} ${name}`;
};

/** Sentences by file, from the signed checksums. */
async function changedFiles(dir: string, names: readonly string[], artefacts: Artefacts, verifier: Verifier) {
  const faults = new Map<string, string[]>();
  const sumsFile = join(dir, CHECKSUMS);
  if (!existsSync(sumsFile)) return faults.set(CHECKSUMS, [`${CHECKSUMS} is missing.`]);
  const fault = await verifier.fileFault(sumsFile, join(dir, bundleOf(CHECKSUMS)));
  if (fault !== null) return faults.set(CHECKSUMS, [unsigned(CHECKSUMS, fault)]);

  const sums = readChecksums(readFileSync(sumsFile, 'utf8'));
  const files = Object.values(artefacts);
  const known = new Set([...files, ...files.map(bundleOf), CHECKSUMS, bundleOf(CHECKSUMS), PUBLIC_KEY]);
  for (const name of new Set([...files, ...sums.keys()])) {
    const called = nameOf(artefacts, name);
    const wanted = sums.get(name);
    if (wanted === undefined) faults.set(name, [`${called} is refused: ${CHECKSUMS} does not list it.`]);
    else if (!names.includes(name)) faults.set(name, [`${called} is missing, and ${CHECKSUMS} lists it.`]);
    else {
      const sum = await sha256OfFile(join(dir, name));
      if (sum !== wanted)
        faults.set(name, [
          `${called} is refused: it was changed. Its SHA-256 is ${sum}; signed was ${wanted}.`,
        ]);
    }
  }
  if (names.includes(PUBLIC_KEY) && !verifier.isKey(join(dir, PUBLIC_KEY)))
    faults.set(PUBLIC_KEY, [`${PUBLIC_KEY} is refused: it is not the key that verifies the release.`]);
  for (const name of names.filter((one) => !known.has(one)))
    faults.set(name, [`${name} is refused: it does not belong to the release.`]);
  return faults;
}

const unsigned = (called: string, fault: string) =>
  `${called} is refused: its signature does not hold: ${fault}.`;

/** Sentences by file, from the bundle that each has for whoever takes that file alone. */
async function unsignedFiles(
  dir: string,
  artefacts: Artefacts,
  known: ReadonlySet<string>,
  verifier: Verifier,
) {
  const { provenance, ...files } = artefacts;
  const statement = join(dir, bundleOf(provenance));
  const faults = new Map<string, string[]>();
  const note = (name: string, fault: string) =>
    faults.set(name, [...(faults.get(name) ?? []), unsigned(nameOf(artefacts, name), fault)]);
  for (const name of Object.values(files).filter((one) => !known.has(one) && existsSync(join(dir, one)))) {
    const fault = await verifier.fileFault(join(dir, name), join(dir, bundleOf(name)));
    if (fault !== null) note(name, fault);
    const statementFault = await verifier.statementFault(join(dir, name), statement);
    if (statementFault !== null && !faults.has(provenance)) note(provenance, `${statementFault} (${name})`);
  }
  const isThere = existsSync(statement) && existsSync(join(dir, provenance));
  if (isThere && !known.has(provenance) && !faults.has(provenance) && !isSame(dir, provenance))
    faults.set(provenance, [
      `${nameOf(artefacts, provenance)} is refused: it is not the statement that was signed.`,
    ]);
  return faults;
}

function isSame(dir: string, provenance: string): boolean {
  const { dsseEnvelope } = JSON.parse(readFileSync(join(dir, bundleOf(provenance)), 'utf8'));
  return Buffer.from(dsseEnvelope.payload, 'base64').equals(readFileSync(join(dir, provenance)));
}

/** What the signed files say of each other: a release that was put together of several is refused. */
async function readSigned(dir: string, version: string, artefacts: Artefacts): Promise<Verdict> {
  const read = (name: string) => JSON.parse(readFileSync(join(dir, name), 'utf8'));
  const { subject, predicate }: Statement = read(artefacts.provenance);
  const { externalParameters, internalParameters } = predicate.buildDefinition;
  const archive = await readOciArchive(join(dir, artefacts.image))
    .then(manifestDigestOf)
    .catch((error: Error) => error);
  const image = typeof archive === 'string' ? archive.replace('sha256:', '') : '';
  const chart = await sha256OfFile(join(dir, artefacts.chart));
  const faults =
    typeof archive === 'string' ? [] : [`image ${artefacts.image} is refused: ${archive.message}.`];

  const subjects = new Map(subject.map(({ name, digest }) => [name, digest.sha256]));
  const expectSame = (what: string, says: unknown, is: unknown) => {
    if (says !== is) faults.push(`${what} is refused: it speaks of ${says}, and the release has ${is}.`);
  };
  expectSame(`provenance ${artefacts.provenance}`, subjects.get(`hookline:${version}`), image);
  expectSame(`provenance ${artefacts.provenance}`, externalParameters.version, version);
  for (const [role, digest] of [
    ['imageSbom', image],
    ['chartSbom', chart],
  ] as const) {
    const { metadata }: Bom = read(artefacts[role]);
    const [hash] = metadata.component.hashes as [{ content: string }];
    expectSame(`${ROLES[role]} ${artefacts[role]}`, hash.content, digest);
    expectSame(`${ROLES[role]} ${artefacts[role]}`, metadata.component.version, version);
  }
  const warnings = Object.values(internalParameters).filter(
    (mark) => mark === 'unpinned' || mark === 'trial',
  );
  return {
    version,
    faults,
    imageDigest: `sha256:${image}`,
    baseImage: externalParameters.baseImage,
    warnings,
  };
}
