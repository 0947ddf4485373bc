import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { artefactsOf, bundleOf, CHECKSUMS, checksumLines, PUBLIC_KEY, type Role } from './artefacts.ts';
import { type BaseImage, defaultBase, inspectBase } from './base-image.ts';
import { buildImage, engineVersion, readDockerfile } from './build-image.ts';
import { openSigner, type Signer } from './cosign.ts';
import { sha256, sha256OfFile } from './digest.ts';
import type { ImageDigests } from './oci-archive.ts';
import { packageChart } from './package-chart.ts';
import { provenance } from './provenance.ts';
import { run } from './run.ts';
import { type Bom, chartSbom, imageSbom, refuseIncomplete, SPEC_VERSION } from './sbom.ts';
import { exportSource, openSource, type Source } from './source.ts';
import { COSIGN, RELEASE_HELM, releaseTool, SYFT } from './tools.ts';

export type BuildOptions = {
  readonly root: string;
  /** The folder for programs that Go builds. */
  readonly toolsDir: string;
  /** The folder that has a folder for each version. */
  readonly releases: string;
  /** A reference with a digest; null for what deploy/Dockerfile names. */
  readonly base: string | null;
  /** A key for cosign; null for a trial key. */
  readonly key: string | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onProgress: (line: string) => void;
};

export type BuiltRelease = {
  readonly source: Source;
  readonly base: BaseImage;
  readonly image: ImageDigests;
  readonly key: 'given' | 'trial';
  readonly dir: string;
};

const SCAN_MS = 5 * 60_000;

/**
 * Builds a release of the commit that is checked out in `root`: image, chart, their SBOMs, provenance, checksums and
 * signatures, into `releases/<version>`. What was there is replaced when all of it is complete.
 * @throws ReleaseError naming what is wrong, and what to do about it
 */
export async function buildRelease(options: BuildOptions): Promise<BuiltRelease> {
  const { root, toolsDir, releases, key, env, onProgress } = options;
  const source = await openSource(root);
  // First of all: to build the tools takes minutes.
  const docker = await engineVersion();
  mkdirSync(releases, { recursive: true });
  const scratch = mkdtempSync(join(releases, '.unfinished-'));
  const dir = join(scratch, 'release');
  mkdirSync(dir);
  try {
    onProgress(`${source.version}: tools`);
    const tools = await openTools(toolsDir);
    const context = join(scratch, 'source');
    await exportSource(root, source, context);
    const trialDir = join(releases, 'trial-key');
    const signer = await openSigner({ cosign: tools.cosign, key, trialDir, scratch, env });
    const base = await inspectBase(options.base ?? defaultBase(readDockerfile(context)));
    const work = { ...options, source, scratch, dir, tools, signer, context, base, docker };
    const image = await buildFiles(work);
    await signFiles(work, image);
    const to = join(releases, source.version);
    rmSync(to, { recursive: true, force: true });
    renameSync(dir, to);
    return { source, base, image, key: signer.kind, dir: to };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

type Work = Omit<BuildOptions, 'base'> & {
  readonly source: Source;
  readonly scratch: string;
  /** The release's folder until it is complete. */
  readonly dir: string;
  readonly tools: Tools;
  readonly signer: Signer;
  /** The exported commit. */
  readonly context: string;
  readonly base: BaseImage;
  /** The version of Docker's engine. */
  readonly docker: string;
};

const writeJson = (file: string, content: object) =>
  writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);

/** Image, chart and their SBOMs. */
async function buildFiles({
  source,
  scratch,
  dir,
  tools,
  context,
  base,
  onProgress,
}: Work): Promise<ImageDigests> {
  const names = artefactsOf(source.version);
  const fileOf = (role: Role) => join(dir, names[role]);
  onProgress(`image, on ${base.reference}`);
  const image = await buildImage({ context, scratch, source, base, to: fileOf('image') });
  onProgress('chart');
  await packageChart({ helm: tools.helm, context, scratch, source, to: fileOf('chart') });
  onProgress('SBOMs');
  const found = await scan(tools.syft, fileOf('image'));
  const bom = imageSbom(found, image, base, source, SYFT.version);
  refuseIncomplete(bom, readFileSync(join(context, 'package-lock.json'), 'utf8'));
  writeJson(fileOf('imageSbom'), bom);
  writeJson(fileOf('chartSbom'), chartSbom({ sha256: await sha256OfFile(fileOf('chart')) }, image, source));
  return image;
}

/** Provenance, checksums, and a signature for each file. */
async function signFiles(work: Work, image: ImageDigests): Promise<void> {
  const { root, dir, signer, source, base, docker, env, onProgress } = work;
  onProgress('provenance and signatures');
  const { provenance: statement, ...others } = artefactsOf(source.version);
  const fileOf = (name: string) => join(dir, name);
  const sums = new Map<string, string>();
  for (const name of Object.values(others)) sums.set(name, await sha256OfFile(fileOf(name)));
  const subjects = new Map([...sums, [`hookline:${source.version}`, image.manifest.replace('sha256:', '')]]);
  const lockDigest = sha256(await run('git', ['show', 'HEAD:package-lock.json'], { cwd: root }));
  const versions = { ...VERSIONS, node: process.version, docker };
  const facts = { source, base, subjects, lockDigest, tools: versions, key: signer.kind, env };
  writeJson(fileOf(statement), provenance(facts));
  sums.set(statement, await sha256OfFile(fileOf(statement)));
  writeFileSync(fileOf(CHECKSUMS), checksumLines(sums));

  for (const name of [...Object.values(others), CHECKSUMS])
    await signer.signFile(fileOf(name), fileOf(bundleOf(name)));
  await signer.signStatement(fileOf(statement), fileOf(bundleOf(statement)));
  writeFileSync(fileOf(PUBLIC_KEY), signer.publicKey);
  // cosign lets nobody else read what it writes.
  for (const name of readdirSync(dir)) chmodSync(fileOf(name), 0o644);
}

const VERSIONS = { helm: RELEASE_HELM.version, syft: SYFT.version, cosign: COSIGN.version };

type Tools = Readonly<Record<keyof typeof VERSIONS, string>>;

/** One after the other: each build takes all the processors that there are. */
async function openTools(dir: string): Promise<Tools> {
  const helm = await releaseTool(dir, RELEASE_HELM);
  const cosign = await releaseTool(dir, COSIGN);
  return { helm, cosign, syft: await releaseTool(dir, SYFT) };
}

/** What Syft finds in the image. It asks nobody, and lists packages, not files. */
async function scan(syft: string, archive: string): Promise<Bom> {
  const env = { SYFT_CHECK_FOR_APP_UPDATE: 'false', SYFT_FILE_METADATA_SELECTION: 'none' };
  const args = ['scan', `oci-archive:${archive}`, '--quiet', '--output', `cyclonedx-json@${SPEC_VERSION}`];
  return JSON.parse(await run(syft, args, { env, deadlineMs: SCAN_MS })) as Bom;
}
