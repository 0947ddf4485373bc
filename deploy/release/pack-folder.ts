import { createReadStream, createWriteStream, readdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { pack } from 'tar-stream';

/**
 * Writes the files of a folder into an uncompressed tar archive, in the order of their names.
 * @param epoch seconds since 1970: the time of each of them
 */
export async function packFolder(folder: string, to: string, epoch: number): Promise<void> {
  const archive = pack();
  const isWritten = pipeline(archive, createWriteStream(to));
  // Awaited below; a failure while files are read is the one that is told.
  isWritten.catch(() => {});
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const plain = { mode: 0o644, uid: 0, gid: 0, mtime: new Date(epoch * 1000) };
  for (const file of files.sort()) {
    const sink = archive.entry({ name: relative(folder, file), size: statSync(file).size, ...plain });
    await pipeline(createReadStream(file), sink);
  }
  archive.finalize();
  await isWritten;
}
