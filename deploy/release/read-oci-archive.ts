import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { extract } from 'tar-stream';

/** What an archive in OCI's layout holds: the SHA-256 of each blob by the name it has, and the texts of the small files. */
export type OciArchive = {
  /** 64 hexadecimal digits each. */
  readonly blobs: ReadonlyMap<string, string>;
  readonly texts: ReadonlyMap<string, string>;
};

/** Manifests and configurations; layers are larger. */
const MAX_TEXT_BYTES = 1024 * 1024;

/** @throws Error where the file is no tar archive */
export async function readOciArchive(file: string): Promise<OciArchive> {
  const blobs = new Map<string, string>();
  const texts = new Map<string, string>();
  const entries = extract();
  const isRead = pipeline(createReadStream(file), entries);
  isRead.catch(() => {});
  for await (const entry of entries) {
    const { name, size = 0 } = entry.header;
    const hash = createHash('sha256');
    const chunks: Uint8Array[] = [];
    for await (const chunk of entry as AsyncIterable<Uint8Array>) {
      hash.update(chunk);
      if (size <= MAX_TEXT_BYTES) chunks.push(chunk);
    }
    if (size <= MAX_TEXT_BYTES) texts.set(name, Buffer.concat(chunks).toString());
    if (name.startsWith('blobs/sha256/')) blobs.set(name.slice('blobs/sha256/'.length), hash.digest('hex'));
  }
  await isRead;
  return { blobs, texts };
}

type Descriptor = { digest: string };

/**
 * The digest of the image's manifest, when all that it refers to is in the archive with the digests it says.
 * @throws Error saying what is missing or has another digest
 */
export function manifestDigestOf({ blobs, texts }: OciArchive): string {
  for (const [name, sum] of blobs)
    if (name !== sum) throw new Error(`its blob sha256:${name} has the digest sha256:${sum}`);
  const [{ digest }] = JSON.parse(texts.get('index.json') ?? '{}').manifests as [Descriptor];
  const hexOf = (descriptor: Descriptor) => descriptor.digest.replace('sha256:', '');
  const { config, layers }: { config: Descriptor; layers: Descriptor[] } = JSON.parse(
    texts.get(`blobs/sha256/${hexOf({ digest })}`) ?? '{}',
  );
  const lost = [config, ...layers].filter((one) => !blobs.has(hexOf(one)));
  if (lost.length > 0) throw new Error(`it lacks ${lost.map((one) => one.digest).join(', ')}`);
  return digest;
}
