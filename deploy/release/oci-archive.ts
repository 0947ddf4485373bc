import { createHash } from 'node:crypto';
import {
  closeSync,
  createReadStream,
  createWriteStream,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { BaseImage } from './base-image.ts';
import { sha256 } from './digest.ts';
import { gunzip, gzip, normaliseTar } from './normalise-tar.ts';
import { packFolder } from './pack-folder.ts';
import { ReleaseError } from './release-error.ts';

/** Digests of an image, each `sha256:` and 64 hexadecimal digits. */
export type ImageDigests = {
  /** Of the manifest: what an image is pulled and signed by. */
  readonly manifest: string;
  readonly config: string;
  /** Such as `amd64`. */
  readonly architecture: string;
};

type SavedImage = {
  /** What `docker save` wrote, extracted. */
  readonly saved: string;
  readonly scratch: string;
  readonly base: BaseImage;
  readonly tag: string;
  /** Seconds since 1970. */
  readonly epoch: number;
  readonly to: string;
};

type Descriptor = { readonly mediaType: string; readonly digest: string; readonly size: number };

/** The part of an image's configuration that OCI specifies. Engines add the build's container and host to it. */
type Config = {
  readonly architecture: string;
  readonly os: string;
  readonly variant?: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly rootfs: { readonly diff_ids: readonly string[] };
  readonly history: readonly {
    created: string;
    created_by?: string;
    comment?: string;
    empty_layer?: boolean;
  }[];
};

const GZIP_MAGIC = 0x1f8b;
const CONFIG_FIELDS = [
  'User',
  'ExposedPorts',
  'Env',
  'Entrypoint',
  'Cmd',
  'Volumes',
  'WorkingDir',
  'Labels',
  'StopSignal',
];

/**
 * Writes an image as an archive in OCI's layout that depends on the image's files and settings alone. Layers of the base
 * image keep their bytes, and so their diff ids; times in the others, and of the image, are `epoch`. `docker load` reads
 * it too: it has the `manifest.json` of `docker save`.
 */
export async function writeOciArchive({
  saved,
  scratch,
  base,
  tag,
  epoch,
  to,
}: SavedImage): Promise<ImageDigests> {
  const [image] = JSON.parse(readFileSync(join(saved, 'manifest.json'), 'utf8')) as [
    { Config: string; Layers: string[] },
  ];
  const old: Config = JSON.parse(readFileSync(join(saved, image.Config), 'utf8'));
  refuseOtherBase(base, old.rootfs.diff_ids);
  const layout = join(scratch, 'layout');
  const blobs = join(layout, 'blobs/sha256');
  mkdirSync(blobs, { recursive: true });

  const layers: Descriptor[] = [];
  const diffIds: string[] = [];
  for (const [n, path] of image.Layers.entries()) {
    const plain = readLayer(join(saved, path));
    const files = n < base.diffIds.length ? plain : normaliseTar(plain, epoch);
    const { diffId, ...layer } = await writeLayer(files, blobs, join(scratch, `layer-${n}`));
    layers.push(layer);
    diffIds.push(diffId);
  }
  const writeJson = (mediaType: string, content: object): Descriptor => {
    const text = JSON.stringify(content);
    writeFileSync(join(blobs, sha256(text)), text);
    return { mediaType, digest: `sha256:${sha256(text)}`, size: Buffer.byteLength(text) };
  };
  const config = writeJson('application/vnd.oci.image.config.v1+json', plainConfig(old, diffIds, epoch));
  const manifestType = 'application/vnd.oci.image.manifest.v1+json';
  const annotations = {
    'org.opencontainers.image.base.name': base.reference.replace(/@.*/, ''),
    ...(base.digest && { 'org.opencontainers.image.base.digest': base.digest }),
  };
  const manifest = writeJson(manifestType, {
    schemaVersion: 2,
    mediaType: manifestType,
    config,
    layers,
    annotations,
  });

  const { architecture, os } = old;
  const named = {
    ...manifest,
    platform: { architecture, os },
    annotations: { 'org.opencontainers.image.ref.name': tag.replace(/.*:/, '') },
  };
  const fileOf = ({ digest }: Descriptor) => `blobs/sha256/${digest.slice('sha256:'.length)}`;
  const files = {
    'oci-layout': { imageLayoutVersion: '1.0.0' },
    'index.json': {
      schemaVersion: 2,
      mediaType: 'application/vnd.oci.image.index.v1+json',
      manifests: [named],
    },
    'manifest.json': [{ Config: fileOf(config), RepoTags: [tag], Layers: layers.map(fileOf) }],
  };
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(layout, name), JSON.stringify(content));
  await packFolder(layout, to, epoch);
  return { manifest: manifest.digest, config: config.digest, architecture };
}

/** The image would not be one of that base image, as the provenance says. */
function refuseOtherBase({ reference, diffIds }: BaseImage, own: readonly string[]): void {
  if (!diffIds.every((id, n) => id === own[n]))
    throw new ReleaseError(
      `The image was not built on ${reference} as the engine has it now: its first layers differ. Run it again.`,
    );
}

/** A layer without its compression: engines save both kinds. */
function readLayer(file: string): AsyncIterable<Uint8Array> {
  const head = Buffer.alloc(2);
  const opened = openSync(file, 'r');
  readSync(opened, head, 0, 2, 0);
  closeSync(opened);
  const bytes = createReadStream(file, { highWaterMark: 1024 * 1024 });
  return head.readUInt16BE() === GZIP_MAGIC ? gunzip(bytes) : bytes;
}

async function writeLayer(
  plain: AsyncIterable<Uint8Array>,
  blobs: string,
  scratch: string,
): Promise<Descriptor & { diffId: string }> {
  const diffId = createHash('sha256');
  const digest = createHash('sha256');
  let size = 0;
  await pipeline(
    gzip(through(plain, (chunk) => void diffId.update(chunk))),
    (chunks) =>
      through(chunks, (chunk) => {
        digest.update(chunk);
        size += chunk.length;
      }),
    createWriteStream(scratch),
  );
  const hex = digest.digest('hex');
  renameSync(scratch, join(blobs, hex));
  const mediaType = 'application/vnd.oci.image.layer.v1.tar+gzip';
  return { mediaType, digest: `sha256:${hex}`, size, diffId: `sha256:${diffId.digest('hex')}` };
}

async function* through(chunks: AsyncIterable<Uint8Array>, look: (chunk: Uint8Array) => void) {
  for await (const chunk of chunks) {
    look(chunk);
    yield chunk;
  }
}

function plainConfig(old: Config, diffIds: readonly string[], epoch: number): object {
  const { architecture, os, variant, config, history } = old;
  const created = new Date(epoch * 1000).toISOString().replace('.000Z', 'Z');
  const kept = CONFIG_FIELDS.filter((name) => config[name] != null).map((name) => [name, config[name]]);
  return {
    created,
    architecture,
    os,
    ...(variant && { variant }),
    config: Object.fromEntries(kept),
    rootfs: { type: 'layers', diff_ids: diffIds },
    history: history.map(({ created_by, comment, empty_layer }) => ({
      created,
      created_by,
      comment,
      empty_layer,
    })),
  };
}
