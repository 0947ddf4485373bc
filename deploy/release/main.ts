/** Builds and verifies releases: `make release`, `make verify-release`. Exit codes: 0 done, 1 refused, 2 wrong usage. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { PUBLIC_KEY } from './artefacts.ts';
import { buildRelease } from './build-release.ts';
import { openVerifier } from './cosign.ts';
import { ReleaseError } from './release-error.ts';
import { builtLines, verdictLines } from './report.ts';
import { readSource } from './source.ts';
import { COSIGN, releaseTool } from './tools.ts';
import { verifyRelease } from './verify-release.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const TOOLS = join(ROOT, '.local/tools');
const RELEASES = join(ROOT, '.local/release');
const COMMITTED_KEY = join(ROOT, 'deploy/release', PUBLIC_KEY);
const TRIAL_KEY = join(RELEASES, 'trial-key', PUBLIC_KEY);
const USAGE = `node deploy/release/main.ts version
node deploy/release/main.ts build [--base IMAGE@sha256:…] [--key KEY]
node deploy/release/main.ts verify [--dir FOLDER] [--key PUBLIC_KEY]`;

const print = (lines: readonly string[]) => void process.stdout.write(`${lines.join('\n')}\n`);

type Options = { base?: string; key?: string; dir?: string };

async function build({ base, key }: Options): Promise<number> {
  const onProgress = (line: string) => void process.stderr.write(`release: ${line}\n`);
  const folders = { root: ROOT, toolsDir: TOOLS, releases: RELEASES };
  const built = await buildRelease({
    ...folders,
    base: base ?? null,
    key: key ?? null,
    env: process.env,
    onProgress,
  });
  print(builtLines(built));
  return 0;
}

/** The version that a release of this commit has. */
async function version(): Promise<number> {
  print([(await readSource(ROOT)).version]);
  return 0;
}

async function verify({ dir, key }: Options): Promise<number> {
  const expected = dir === undefined ? (await readSource(ROOT)).version : null;
  const folder = dir ?? join(RELEASES, expected ?? '');
  const trusted = key ?? publicKey();
  const verifier = openVerifier(await releaseTool(TOOLS, COSIGN), trusted);
  const verdict = await verifyRelease(folder, verifier, expected);
  print(verdictLines(verdict));
  // A trial release in a repository that has a key.
  if (verdict.faults.length > 0 && key === undefined && existsSync(COMMITTED_KEY) && existsSync(TRIAL_KEY))
    print([`The key was deploy/release/${PUBLIC_KEY}. For a trial release: --key ${TRIAL_KEY}`]);
  return verdict.faults.length === 0 ? 0 : 1;
}

/** Never the one in the release's own folder: whoever changes the files can change that too. */
function publicKey(): string {
  const found = [COMMITTED_KEY, TRIAL_KEY].find((file) => existsSync(file));
  if (found === undefined)
    throw new ReleaseError('No public key is known. Name the one that you trust: --key cosign.pub');
  return found;
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { base: { type: 'string' }, key: { type: 'string' }, dir: { type: 'string' } },
  });
  const [verb, ...more] = positionals;
  if (more.length === 0 && verb === 'build' && values.dir === undefined) return build(values);
  if (more.length === 0 && verb === 'verify' && values.base === undefined) return verify(values);
  if (positionals.join() === 'version' && Object.keys(values).length === 0) return version();
  process.stderr.write(`${USAGE}\n`);
  return 2;
}

try {
  process.exitCode = await main();
} catch (error) {
  const isUsage = (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS') ?? false;
  if (!isUsage && !(error instanceof ReleaseError)) throw error;
  process.stderr.write(`${(error as Error).message}\n${isUsage ? `${USAGE}\n` : ''}`);
  process.exitCode = isUsage ? 2 : 1;
}
