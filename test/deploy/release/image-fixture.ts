import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Header, pack } from 'tar-stream';
import type { BaseImage } from '../../../deploy/release/base-image.ts';
import { sha256 } from '../../../deploy/release/digest.ts';
import { type ImageDigests, writeOciArchive } from '../../../deploy/release/oci-archive.ts';
import type { Source } from '../../../deploy/release/source.ts';

/** 2026-01-31T00:00:00Z */
export const EPOCH = 1_769_817_600;

export const SOURCE: Source = {
  version: '1.2.3',
  released: '1.2.3',
  isDevelopment: false,
  revision: '0123456789abcdef0123456789abcdef01234567',
  epoch: EPOCH,
  repository: 'https://example.org/hookline.git',
};

export type Entry = Partial<Header> & { name: string; content?: string };

/** A tar archive with these entries. */
export async function tarOf(entries: readonly Entry[]): Promise<Buffer> {
  const archive = pack();
  for (const { content, ...header } of entries) archive.entry(header as Header, content ?? '');
  archive.finalize();
  const chunks: Uint8Array[] = [];
  for await (const chunk of archive as AsyncIterable<Uint8Array>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const diffIdOf = (layer: Buffer) => `sha256:${sha256(layer)}`;

/** What differs between two builds of the same files. */
export type Build = { readonly time: Date; readonly host: string; readonly content?: string };

/** A base image of one layer, whose time is its own. */
export async function baseImage(): Promise<{ base: BaseImage; layer: Buffer }> {
  const layer = await tarOf([{ name: 'etc/os-release', content: 'ID=debian\n', mtime: new Date(0) }]);
  const reference = 'node:24-slim';
  return {
    layer,
    base: { reference, digest: null, configDigest: `sha256:${'a'.repeat(64)}`, diffIds: [diffIdOf(layer)] },
  };
}

/** An image as `docker save` writes it, made into an archive in OCI's layout. */
export async function writeImage({ time, host, content = 'x' }: Build, to: string): Promise<ImageDigests> {
  const scratch = mkdtempSync(join(tmpdir(), 'hookline-image-'));
  try {
    const { base, layer } = await baseImage();
    const own = await tarOf([
      { name: 'app/', type: 'directory', mtime: time, uname: host },
      { name: 'app/main.ts', content, mtime: time, uid: 1000, uname: host },
      { name: 'app/link', type: 'symlink', linkname: 'main.ts', mtime: time },
    ]);
    const config = {
      created: time.toISOString(),
      container_config: { Hostname: host },
      architecture: 'amd64',
      os: 'linux',
      config: { Hostname: host, User: '1000:1000', Cmd: ['src/main.ts'], Volumes: null },
      rootfs: { type: 'layers', diff_ids: [diffIdOf(layer), diffIdOf(own)] },
      history: [{ created: time.toISOString(), created_by: 'COPY' }],
    };
    const saved = join(scratch, 'saved');
    mkdirSync(saved);
    const files = { 'base.tar': layer, 'own.tar': own, 'config.json': JSON.stringify(config) };
    const manifest = [{ Config: 'config.json', Layers: ['base.tar', 'own.tar'] }];
    for (const [name, bytes] of Object.entries(files)) writeFileSync(join(saved, name), bytes);
    writeFileSync(join(saved, 'manifest.json'), JSON.stringify(manifest));
    return await writeOciArchive({ saved, scratch, base, tag: 'hookline:1.2.3', epoch: EPOCH, to });
  } finally {
    rmSync(scratch, { recursive: true });
  }
}
