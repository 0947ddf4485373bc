import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { gzip, normaliseTar } from '../../../deploy/release/normalise-tar.ts';
import { manifestDigestOf, readOciArchive } from '../../../deploy/release/read-oci-archive.ts';
import { baseImage, EPOCH, tarOf, writeImage } from './image-fixture.ts';

const dir = mkdtempSync(join(tmpdir(), 'hookline-oci-'));
afterAll(() => rmSync(dir, { recursive: true }));
const file = (name: string) => join(dir, name);
const MONDAY = { time: new Date('2026-02-02T08:00:00Z'), host: 'a' };
const TUESDAY = { time: new Date('2026-02-03T09:00:00Z'), host: 'b' };

async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}
async function* of(...chunks: Uint8Array[]) {
  yield* chunks;
}

describe('the archive of an image', () => {
  it('is the same for the same files, whenever and wherever they were built', async () => {
    const monday = await writeImage(MONDAY, file('monday'));
    expect(await writeImage(TUESDAY, file('tuesday'))).toEqual(monday);
    expect(readFileSync(file('tuesday')).equals(readFileSync(file('monday')))).toBe(true);
    expect((await writeImage({ ...MONDAY, content: 'y' }, file('other'))).manifest).not.toBe(monday.manifest);
  });

  it('has all that its manifest refers to, and is read by docker load', async () => {
    const { manifest, config } = await writeImage(MONDAY, file('read'));
    const archive = await readOciArchive(file('read'));
    expect(manifestDigestOf(archive)).toBe(manifest);
    const [saved] = JSON.parse(archive.texts.get('manifest.json') ?? '');
    expect(saved.RepoTags).toEqual(['hookline:1.2.3']);
    expect(saved.Config).toBe(`blobs/sha256/${config.slice(7)}`);
    for (const path of saved.Layers) expect(archive.texts.has(path)).toBe(true);
  });

  it('keeps the layers of the base image, and of the settings what OCI specifies', async () => {
    const { config } = await writeImage(MONDAY, file('config'));
    const { texts } = await readOciArchive(file('config'));
    const {
      created,
      rootfs,
      history,
      config: settings,
    } = JSON.parse(texts.get(`blobs/sha256/${config.slice(7)}`) ?? '');
    expect(rootfs.diff_ids[0]).toBe((await baseImage()).base.diffIds[0]);
    expect(settings).toEqual({ User: '1000:1000', Cmd: ['src/main.ts'] });
    expect([created, history[0].created]).toEqual(['2026-01-31T00:00:00Z', '2026-01-31T00:00:00Z']);
  });

  it('is refused with a blob that was changed', async () => {
    await writeImage(MONDAY, file('changed'));
    const bytes = readFileSync(file('changed'));
    bytes[bytes.indexOf('1000:1000')] = 0x39;
    writeFileSync(file('changed'), bytes);
    const archive = await readOciArchive(file('changed'));
    expect(() => manifestDigestOf(archive)).toThrow(/its blob sha256:\w{64} has the digest sha256:\w{64}/);
  });
});

describe('a tar archive of a release', () => {
  it('has the time of the commit, and no names of users', async () => {
    const tar = await tarOf([
      { name: 'a', content: 'a', uname: 'me', gname: 'us', uid: 7, mode: 0o600, mtime: TUESDAY.time },
    ]);
    const plain = await tarOf([
      { name: 'a', content: 'a', uid: 7, mode: 0o600, mtime: new Date(EPOCH * 1000) },
    ]);
    expect((await bytesOf(normaliseTar(of(tar), EPOCH))).equals(plain)).toBe(true);
  });

  it('is refused with extended attributes, which it would lose', async () => {
    const tar = await tarOf([{ name: 'a', pax: { 'SCHILY.xattr.security.capability': 'x' } }]);
    await expect(bytesOf(normaliseTar(of(tar), EPOCH))).rejects.toThrow('a has the extended attribute');
  });

  it('ends with an error where it is cut off', async () => {
    const tar = await tarOf([{ name: 'a', content: 'a'.repeat(2000) }]);
    await expect(bytesOf(normaliseTar(of(tar.subarray(0, 1000)), EPOCH))).rejects.toThrow();
  });

  it('is compressed to the same bytes, however it arrives', async () => {
    const tar = await tarOf([{ name: 'a', content: 'abc'.repeat(50_000) }]);
    const whole = await bytesOf(gzip(of(tar)));
    expect(gunzipSync(whole).equals(tar)).toBe(true);
    // The time in a gzip header, which is 0.
    expect(whole.readUInt32LE(4)).toBe(0);
    expect(await bytesOf(gzip(of(tar)))).toEqual(whole);
  });
});
