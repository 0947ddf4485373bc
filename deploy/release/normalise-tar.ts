import { pipeline as pipe, type Readable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { Gzip } from 'fflate';
import { extract, type Header, type Pack, pack } from 'tar-stream';
import { ReleaseError } from './release-error.ts';

type Bytes = AsyncIterable<Uint8Array>;

/**
 * The same files in the same order, without what depends on when and by whom the archive was made: every time is
 * `epoch`, and users and groups are numbers alone.
 * @param input an uncompressed tar archive
 * @param epoch seconds since 1970
 * @throws ReleaseError for extended attributes, which would be lost
 */
export function normaliseTar(input: Bytes, epoch: number): Bytes {
  const output = pack();
  copyEntries(input, output, epoch).catch((error: Error) => output.destroy(error));
  return output as Bytes;
}

async function copyEntries(input: Bytes, output: Pack, epoch: number): Promise<void> {
  const entries = extract();
  const isRead = pipeline(input, entries);
  // Awaited below; a failure while entries are copied is theirs too.
  isRead.catch(() => {});
  for await (const entry of entries) {
    const header = plainHeader(entry.header, epoch);
    if (header.type === 'file') {
      const sink = output.entry(header);
      entry.pipe(sink);
      await finished(sink);
    } else {
      entry.resume();
      output.entry(header);
    }
  }
  await isRead;
  output.finalize();
}

function plainHeader({ pax, ...header }: Header, epoch: number): Header {
  const attribute = Object.keys(pax ?? {}).find((key) => key.startsWith('SCHILY.xattr.'));
  if (attribute !== undefined)
    throw new ReleaseError(
      `${header.name} has the extended attribute ${attribute}, which a release cannot keep. Remove it in deploy/Dockerfile.`,
    );
  return { ...header, mtime: new Date(epoch * 1000), uname: '', gname: '' };
}

/**
 * Compressed by gzip. Written in JavaScript, it gives the same bytes on every processor; zlib, which Node brings, has
 * instructions of its own for some.
 */
export async function* gzip(input: Bytes): AsyncGenerator<Uint8Array> {
  let ready: Uint8Array[] = [];
  const compressor = new Gzip({ level: 6, mtime: 0 }, (chunk) => ready.push(chunk));
  for await (const chunk of input) {
    compressor.push(chunk);
    yield* ready;
    ready = [];
  }
  compressor.push(new Uint8Array(), true);
  yield* ready;
}

/** What gzip compressed. A failure of the source, or bytes that are no gzip, end it with that error. */
export const gunzip = (input: Readable): AsyncIterable<Uint8Array> => pipe(input, createGunzip(), () => {});
