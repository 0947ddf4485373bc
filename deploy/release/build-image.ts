import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BaseImage } from './base-image.ts';
import { type ImageDigests, writeOciArchive } from './oci-archive.ts';
import { ReleaseError } from './release-error.ts';
import { run } from './run.ts';
import type { Source } from './source.ts';

const BUILD_MS = 20 * 60_000;
const SAVE_MS = 5 * 60_000;

type ImageBuild = {
  /** The exported commit. */
  readonly context: string;
  /** A folder for what is only needed meanwhile. */
  readonly scratch: string;
  readonly source: Source;
  readonly base: BaseImage;
  /** The archive to write. */
  readonly to: string;
};

/** Builds the image in the Docker engine, without its cache, and writes it as an archive in OCI's layout. */
export async function buildImage({ context, scratch, source, base, to }: ImageBuild): Promise<ImageDigests> {
  // Its files are those of the release, its times are not: it has another name, and goes.
  const unfinished = `hookline-unfinished:${source.version}`;
  const given = [
    ['NODE_IMAGE', base.reference],
    ['VERSION', source.version],
    ['REVISION', source.revision],
  ].flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
  const file = join(context, 'deploy/Dockerfile');
  const args = [
    'build',
    '--no-cache',
    '--network',
    'host',
    '--file',
    file,
    ...given,
    '--tag',
    unfinished,
    context,
  ];
  // Attestations of BuildKit's own would be manifests beside the image's. Ours are signed.
  await run('docker', args, { deadlineMs: BUILD_MS, env: { BUILDX_NO_DEFAULT_ATTESTATIONS: '1' } });
  const saved = join(scratch, 'saved');
  mkdirSync(saved);
  await run('docker', ['save', '--output', `${saved}.tar`, unfinished], { deadlineMs: SAVE_MS });
  await run('docker', ['image', 'rm', unfinished]);
  await run('tar', ['--extract', '--file', `${saved}.tar`, '--directory', saved], { deadlineMs: SAVE_MS });
  const tag = `hookline:${source.version}`;
  return writeOciArchive({ saved, scratch, base, tag, epoch: source.epoch, to });
}

/**
 * The version that Docker's engine has.
 * @throws ReleaseError where none answers
 */
export async function engineVersion(): Promise<string> {
  const version = run('docker', ['version', '--format', '{{.Server.Version}}']);
  return (
    await version.catch((cause: Error) => {
      throw new ReleaseError(`No Docker engine answers. Start it, or set DOCKER_HOST. ${cause.message}`, {
        cause,
      });
    })
  ).trim();
}

/** What a Dockerfile in the exported commit says. */
export const readDockerfile = (context: string): string =>
  readFileSync(join(context, 'deploy/Dockerfile'), 'utf8');
