import { ReleaseError } from './release-error.ts';
import { run } from './run.ts';

const PULL_MS = 10 * 60_000;

/** The image that the release's image begins with. */
export type BaseImage = {
  /** As given, such as `node:24-bookworm-slim@sha256:…`. */
  readonly reference: string;
  /** The digest that the reference names, `sha256:` and 64 hexadecimal digits, or null: such a release is unpinned. */
  readonly digest: string | null;
  /** The digest of its configuration: what the engine has under the reference. */
  readonly configDigest: string;
  /** The digests of its uncompressed layers. */
  readonly diffIds: readonly string[];
};

/** The digest in a reference, or null where it names a tag, which can be moved. */
export const digestIn = (reference: string): string | null =>
  /@(sha256:[0-9a-f]{64})$/.exec(reference)?.[1] ?? null;

/**
 * The base image that a Dockerfile names in `ARG NODE_IMAGE=`.
 * @throws ReleaseError where it names none
 */
export function defaultBase(dockerfile: string): string {
  const [, reference] = /^ARG NODE_IMAGE=(\S+)$/m.exec(dockerfile) ?? [];
  if (reference === undefined) throw new ReleaseError('deploy/Dockerfile has no line ARG NODE_IMAGE=….');
  return reference;
}

/** The base image as the engine has it; it is pulled where the engine does not have it. */
export async function inspectBase(reference: string): Promise<BaseImage> {
  const inspect = () => run('docker', ['image', 'inspect', reference]);
  const printed = await inspect().catch(async () => {
    await run('docker', ['pull', '--quiet', reference], { deadlineMs: PULL_MS });
    return inspect();
  });
  const [image] = JSON.parse(printed) as [{ Id: string; RootFS: { Layers: string[] } }];
  return { reference, digest: digestIn(reference), configDigest: image.Id, diffIds: image.RootFS.Layers };
}
