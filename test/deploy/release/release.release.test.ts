import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Artefacts,
  artefactsOf,
  bundleOf,
  CHECKSUMS,
  ROLES,
  type Role,
} from '../../../deploy/release/artefacts.ts';
import { type BuiltRelease, buildRelease } from '../../../deploy/release/build-release.ts';
import { openVerifier } from '../../../deploy/release/cosign.ts';
import { COSIGN, releaseTool } from '../../../deploy/release/tools.ts';
import { verifyRelease } from '../../../deploy/release/verify-release.ts';
import { readDocument, sectionOf } from '../../support/documents.ts';
import { ROOT } from '../../support/source-tree.ts';
import { cyclonedxFaults } from './cyclonedx.ts';

const TOOLS = join(ROOT, '.local/tools');
const PASSWORD = 'a password of this test';
const dir = mkdtempSync(join(tmpdir(), 'hookline-two-builds-'));
const key = join(dir, 'cosign.key');
const publicKey = join(dir, 'cosign.pub');
let cosign: string;
let first: BuiltRelease;
let second: BuiltRelease;
let names: Artefacts;

const makeKey = (cwd: string) =>
  execFileSync(cosign, ['generate-key-pair'], {
    cwd,
    stdio: 'ignore',
    env: { ...process.env, COSIGN_PASSWORD: PASSWORD },
  });

/** A clone of its own, in a folder of its own. */
async function build(name: string, beforehand: (clone: string) => void): Promise<BuiltRelease> {
  const root = join(dir, name);
  execFileSync('git', ['clone', '--quiet', ROOT, root]);
  beforehand(root);
  return buildRelease({
    root,
    toolsDir: TOOLS,
    releases: join(root, '.local/release'),
    base: null,
    key,
    env: { COSIGN_PASSWORD: PASSWORD },
    onProgress: (line) => console.log(`${name}: ${line}`),
  });
}

beforeAll(async () => {
  cosign = await releaseTool(TOOLS, COSIGN);
  makeKey(dir);
  first = await build('first', () => {});
  // As a clone under another umask has it.
  second = await build('second', (clone) => execFileSync('chmod', ['-R', 'go-rwx', clone]));
  names = artefactsOf(first.source.version);
});

afterAll(() => rmSync(dir, { recursive: true }));

const file = (name: string) => join(first.dir, name);
const faults = async (pub = publicKey) => (await verifyRelease(first.dir, openVerifier(cosign, pub))).faults;
const json = (role: Role) => JSON.parse(readFileSync(file(names[role]), 'utf8'));

/** Flips one bit of a file while something runs. */
async function withFlipped<T>(
  name: string,
  at: (bytes: Buffer) => number,
  work: () => Promise<T>,
): Promise<T> {
  const bytes = readFileSync(file(name));
  const position = at(bytes);
  bytes.writeUInt8(bytes.readUInt8(position) ^ 1, position);
  writeFileSync(file(name), bytes);
  try {
    return await work();
  } finally {
    bytes.writeUInt8(bytes.readUInt8(position) ^ 1, position);
    writeFileSync(file(name), bytes);
  }
}

describe('two builds of one commit, in two clones', () => {
  it('give one image digest, and the same chart, SBOMs and provenance', () => {
    expect(second.image).toEqual(first.image);
    const sums = (built: BuiltRelease) => readFileSync(join(built.dir, CHECKSUMS), 'utf8');
    expect(sums(second)).toBe(sums(first));
    expect(sums(first).trimEnd().split('\n')).toHaveLength(Object.keys(ROLES).length);
  });
});

describe('a release', () => {
  it('is verified by make verify-release with the public key', async () => {
    const args = [join(ROOT, 'deploy/release/main.ts'), 'verify', '--dir', first.dir, '--key', publicKey];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(stdout).toContain(`Hookline ${first.source.version} is what was signed`);
    expect(stdout).toContain(first.image.manifest);
    expect(stdout).not.toContain('TRIAL');
  });

  it('is verified by the commands that docs/release.md has for cosign', async () => {
    const section = sectionOf(readDocument('docs/release.md'), '## Verify a release');
    const [block = ''] = [...section.matchAll(/```sh\n(cosign[\s\S]*?)```/g)].map(([, text]) => text);
    const commands = block.replaceAll('1.2.3', first.source.version).replaceAll('cosign.pub', publicKey);
    const shell = ['-ec', `cosign() { ${cosign} "$@"; }\n${commands}`];
    const { stderr } = await promisify(execFile)('bash', shell, { cwd: first.dir });
    expect(stderr.match(/Verified OK/g)).toHaveLength(2);
  });

  it.each(
    Object.entries(ROLES).flatMap(([role, called]) =>
      [0, 0.5, 1].map((where) => [called, role as Role, where] as const),
    ),
  )('is refused with one bit of the %s flipped (%s, at %d of its length)', async (called, role, where) => {
    const name = names[role];
    const at = (bytes: Buffer) => Math.floor((bytes.length - 1) * where);
    const found = await withFlipped(name, at, faults);
    expect(found).toEqual([
      expect.stringMatching(`^${called} ${name} is refused: it was changed\\. Its SHA-256 is \\w{64}`),
    ]);
  });

  it.each([...Object.keys(ROLES), CHECKSUMS])(
    'is refused with one bit of the signature of %s flipped',
    async (role) => {
      const name = role === CHECKSUMS ? role : names[role as Role];
      const at = (bytes: Buffer) => /"sig(nature)?": ?"/.exec(bytes.toString())!.index + 30;
      const found = await withFlipped(bundleOf(name), at, faults);
      expect(found).toEqual([expect.stringMatching(`${name} is refused: its signature does not hold: .+`)]);
    },
  );

  it('is refused with another provenance in its signature', async () => {
    const at = (bytes: Buffer) => bytes.indexOf('"payload":"') + 500;
    const found = await withFlipped(bundleOf(names.provenance), at, faults);
    expect(found).toEqual([expect.stringContaining(`${names.provenance} is refused`)]);
  });

  it('is refused by the public key of somebody else', async () => {
    const other = mkdtempSync(join(dir, 'other-'));
    makeKey(other);
    expect((await faults(join(other, 'cosign.pub')))[0]).toContain(
      `${CHECKSUMS} is refused: its signature does not hold`,
    );
    expect(await faults()).toEqual([]);
  });

  it('has SBOMs of CycloneDX, with Node and the base image', () => {
    expect(cyclonedxFaults(json('imageSbom'))).toEqual([]);
    expect(cyclonedxFaults(json('chartSbom'))).toEqual([]);
    const { components } = json('imageSbom');
    const purls = components.map(({ purl = '' }: { purl?: string }) => purl.replace(/@.*/, ''));
    expect(purls).toEqual(
      expect.arrayContaining(['pkg:generic/node', 'pkg:deb/debian/tini', 'pkg:npm/fastify']),
    );
    expect(components[0].properties[0].value).toBe(first.base.digest === null ? 'unpinned' : 'pinned');
  });

  it('has an image that docker load takes, and that runs', () => {
    const docker = (...args: string[]) => execFileSync('docker', args, { encoding: 'utf8' });
    const tag = `hookline:${first.source.version}`;
    try {
      expect(docker('load', '--input', file(names.image))).toContain(tag);
      expect(docker('run', '--rm', '--network', 'none', tag, 'src/cli/main.ts', '--help')).toContain(
        'Usage: hookline',
      );
      expect(docker('image', 'inspect', '--format', '{{.Id}}', tag).trim()).toBe(first.image.config);
    } finally {
      docker('image', 'rm', '--force', tag);
    }
  });

  it('leaves neither a key nor an unfinished folder', () => {
    expect(existsSync(join(dir, 'first/.local/release/trial-key'))).toBe(false);
    const status = execFileSync('git', ['status', '--porcelain', '--ignored'], {
      cwd: join(dir, 'first'),
      encoding: 'utf8',
    });
    expect(status).toBe('!! .local/\n');
  });
});

it('without a Docker engine ends at once, with a remedy', async () => {
  const env = { ...process.env, DOCKER_HOST: 'tcp://127.0.0.1:1' };
  const args = [join(dir, 'first/deploy/release/main.ts'), 'build'];
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'first/node_modules'));
  await expect(promisify(execFile)(process.execPath, args, { env })).rejects.toThrow(
    'No Docker engine answers. Start it, or set DOCKER_HOST.',
  );
});

describe('a key that cannot be used', () => {
  const again = (options: object) =>
    buildRelease({
      root: join(dir, 'first'),
      toolsDir: TOOLS,
      releases: join(dir, 'none'),
      base: null,
      key,
      env: {},
      onProgress: () => {},
      ...options,
    });

  it.each([
    ['without its password', {}, 'COSIGN_PASSWORD is not set'],
    [
      'with another password',
      { env: { COSIGN_PASSWORD: 'another' } },
      /^cosign public-key failed[\s\S]*decrypt/,
    ],
    ['that does not exist', { key: '/none/cosign.key' }, 'The key /none/cosign.key does not exist'],
  ])('%s ends the build with a remedy, before the image is built', async (_, options, message) => {
    const started = performance.now();
    await expect(again(options)).rejects.toThrow(message);
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});
