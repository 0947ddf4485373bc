import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  artefactsOf,
  bundleOf,
  CHECKSUMS,
  checksumLines,
  PUBLIC_KEY,
  readChecksums,
} from '../../../deploy/release/artefacts.ts';
import type { Verifier } from '../../../deploy/release/cosign.ts';
import { sha256 } from '../../../deploy/release/digest.ts';
import { provenance, type Statement } from '../../../deploy/release/provenance.ts';
import { builtLines, verdictLines } from '../../../deploy/release/report.ts';
import { chartSbom, imageSbom } from '../../../deploy/release/sbom.ts';
import { verifyRelease } from '../../../deploy/release/verify-release.ts';
import { baseImage, SOURCE, writeImage } from './image-fixture.ts';

const names = artefactsOf('1.2.3');
const { base } = await baseImage();
let dir: string;
const file = (name: string) => join(dir, name);
const read = (name: string) => readFileSync(file(name));
const writeJson = (name: string, content: object) => writeFileSync(file(name), JSON.stringify(content));

/** Signs as cosign does, without a key: a bundle holds what it is for. make test-release has cosign itself. */
const sign = (name: string) => writeJson(bundleOf(name), { signed: sha256(read(name)) });
const signStatement = () =>
  writeJson(bundleOf(names.provenance), {
    dsseEnvelope: { payload: read(names.provenance).toString('base64') },
  });
const verifier: Verifier = {
  isKey: (path) => readFileSync(path, 'utf8') === 'the key',
  fileFault: async (path, bundle) => {
    const { signed } = JSON.parse(readFileSync(bundle, 'utf8'));
    return signed === sha256(readFileSync(path)) ? null : 'invalid signature';
  },
  statementFault: async (path, bundle) => {
    const { dsseEnvelope } = JSON.parse(readFileSync(bundle, 'utf8'));
    const { subject }: Statement = JSON.parse(Buffer.from(dsseEnvelope.payload, 'base64').toString());
    const digest = sha256(readFileSync(path));
    return subject.some((one) => one.digest.sha256 === digest) ? null : 'no subject has its digest';
  },
};

function signAll(imageDigest: string): void {
  const { provenance: statement, ...others } = names;
  const sums = new Map(Object.values(others).map((name) => [name, sha256(read(name))]));
  const subjects = new Map([...sums, ['hookline:1.2.3', imageDigest.slice(7)]]);
  const facts = {
    source: SOURCE,
    base,
    subjects,
    lockDigest: 'd'.repeat(64),
    tools: {},
    key: 'trial' as const,
    env: {},
  };
  writeJson(statement, provenance(facts));
  writeFileSync(file(CHECKSUMS), checksumLines(sums.set(statement, sha256(read(statement)))));
  for (const name of [...Object.values(others), CHECKSUMS]) sign(name);
  signStatement();
}

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'hookline-release-'));
  const image = await writeImage({ time: new Date(), host: 'a' }, file(names.image));
  writeFileSync(file(names.chart), 'a chart');
  const found = {
    bomFormat: 'CycloneDX' as const,
    specVersion: '1.6',
    metadata: { component: { type: 'container', name: 'x' } },
    components: [],
  };
  writeJson(names.imageSbom, imageSbom(found, image, base, SOURCE, 'v1'));
  writeJson(names.chartSbom, chartSbom({ sha256: sha256('a chart') }, image, SOURCE));
  signAll(image.manifest);
});
afterEach(() => rmSync(dir, { recursive: true }));

const faults = async () => (await verifyRelease(dir, verifier)).faults;

describe('a release', () => {
  it('is accepted as it was signed, with its marks', async () => {
    const verdict = await verifyRelease(dir, verifier);
    expect(verdict).toMatchObject({ version: '1.2.3', faults: [], warnings: ['unpinned', 'trial'] });
    expect(verdictLines(verdict).join('\n')).toMatch(
      /is what was signed[\s\S]*sha256:\w{64}\n[\s\S]*UNPINNED[\s\S]*TRIAL/,
    );
  });

  it.each([
    ['image', names.image],
    ['chart', names.chart],
    ['SBOM of the image', names.imageSbom],
    ['SBOM of the chart', names.chartSbom],
    ['provenance', names.provenance],
  ])('with a changed %s is refused, and names it', async (role, name) => {
    appendFileSync(file(name), ' ');
    const [fault, ...more] = await faults();
    expect(fault).toBe(
      `${role} ${name} is refused: it was changed. Its SHA-256 is ${sha256(read(name))}; signed was ${readChecksums(read(CHECKSUMS).toString()).get(name)}.`,
    );
    expect(more).toEqual([]);
    expect(verdictLines(await verifyRelease(dir, verifier)).at(-1)).toContain('Do not install it');
  });

  it('is refused with checksums that fit a changed file', async () => {
    appendFileSync(file(names.chart), ' ');
    const sums = readChecksums(read(CHECKSUMS).toString()).set(names.chart, sha256(read(names.chart)));
    writeFileSync(file(CHECKSUMS), checksumLines(sums));
    expect(await faults()).toEqual([
      'SHA256SUMS is refused: its signature does not hold: invalid signature.',
      `chart ${names.chart} is refused: its signature does not hold: invalid signature.`,
      `provenance ${names.provenance} is refused: its signature does not hold: no subject has its digest (${names.chart}).`,
    ]);
  });

  it('is refused with the signature of another file', async () => {
    writeFileSync(file(bundleOf(names.chart)), read(bundleOf(names.image)));
    expect(await faults()).toEqual([
      `chart ${names.chart} is refused: its signature does not hold: invalid signature.`,
    ]);
  });

  it('is refused without one of its files, and with one that does not belong to it', async () => {
    rmSync(file(names.chartSbom));
    writeFileSync(file('install.sh'), '');
    expect(await faults()).toEqual([
      `SBOM of the chart ${names.chartSbom} is missing, and SHA256SUMS lists it.`,
      'install.sh is refused: it does not belong to the release.',
    ]);
  });

  it('is refused when its signed files are of several builds', async () => {
    const image = await writeImage({ time: new Date(), host: 'a', content: 'y' }, file(names.image));
    signAll(image.manifest);
    const [fault] = await faults();
    expect(fault).toMatch(
      new RegExp(
        `^SBOM of the image .* it speaks of \\w{64}, and the release has ${image.manifest.slice(7)}`,
      ),
    );
  });

  it('is refused when the signed provenance is another one than the file', async () => {
    const statement = { ...JSON.parse(read(names.provenance).toString()), predicate: {} };
    writeJson(bundleOf(names.provenance), {
      dsseEnvelope: { payload: Buffer.from(JSON.stringify(statement)).toString('base64') },
    });
    expect(await faults()).toEqual([
      `provenance ${names.provenance} is refused: it is not the statement that was signed.`,
    ]);
  });

  it('is refused with a public key beside it that is not the one that verifies it', async () => {
    writeFileSync(file(PUBLIC_KEY), 'the key');
    expect(await faults()).toEqual([]);
    writeFileSync(file(PUBLIC_KEY), 'another key');
    expect(await faults()).toEqual(['cosign.pub is refused: it is not the key that verifies the release.']);
  });

  it('is refused when another version is wanted', async () => {
    await expect(verifyRelease(dir, verifier, '1.2.4')).rejects.toThrow(
      'holds the release 1.2.3, and 1.2.4 is wanted',
    );
    expect((await verifyRelease(dir, verifier, '1.2.3')).faults).toEqual([]);
  });

  it('is not found in a folder without one', async () => {
    await expect(verifyRelease(join(dir, 'none'), verifier)).rejects.toThrow(
      'holds no release. Build one with make release',
    );
  });
});

it('what make release prints warns of a base image without a digest and of a trial key', () => {
  const image = { manifest: 'sha256:1', config: 'sha256:2', architecture: 'amd64' };
  const lines = (digest: string | null, key: 'given' | 'trial') =>
    builtLines({ source: SOURCE, base: { ...base, digest }, image, key, dir: 'd' }).join('\n');
  expect(lines(null, 'trial')).toMatch(/UNPINNED: [\s\S]*TRIAL: /);
  expect(lines('sha256:3', 'given')).not.toMatch(/UNPINNED|TRIAL/);
});
