import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pythonTool } from '../contracts/support/python-tool.ts';
import { ROOT } from '../support/source-tree.ts';
import { ACTIONLINT, goTool } from '../support/tools/go-tool.ts';

const dir = mkdtempSync(join(tmpdir(), 'hookline-workflows-'));
const tools = {
  env: process.env,
  dir: join(ROOT, '.local/tools'),
  signal: new AbortController().signal,
  onProgress: (line: string) => console.log(`tools: ${line}`),
};
let actionlint: string;
let zizmor: string;

beforeAll(async () => {
  actionlint = await goTool(ACTIONLINT, tools);
  const requirements = resolve(import.meta.dirname, 'zizmor.txt');
  const pythons = ['3.14', '3.13', '3.12', '3.11', '3.10'];
  zizmor = await pythonTool({ program: 'zizmor', what: 'zizmor (10 MB)', requirements, pythons }, tools);
}, 10 * 60_000);
afterAll(() => rmSync(dir, { recursive: true }));

/** What a linter prints, and its exit code. */
const lint = (program: string, args: readonly string[], cwd = ROOT) =>
  new Promise<{ code: unknown; out: string }>((done) =>
    execFile(program, args, { cwd }, (error, out, err) => done({ code: error?.code ?? 0, out: out + err })),
  );
const byActionlint = (cwd?: string) => lint(actionlint, ['-no-color', '-shellcheck='], cwd);
/** Its strictest rules, without the network. */
const byZizmor = (cwd?: string) =>
  lint(zizmor, ['--offline', '--persona=auditor', '--no-progress', '.github'], cwd);

describe('the workflows', () => {
  it('are accepted by actionlint', async () => {
    expect(await byActionlint()).toEqual({ code: 0, out: '' });
  });

  it('are accepted by zizmor, with the settings of Dependabot', async () => {
    const { code, out } = await byZizmor();
    expect(out).toContain('No findings to report');
    expect(code).toBe(0);
  });
});

it('a workflow with a mistake and an action that is not pinned is refused by both', async () => {
  const steps = `      - uses: actions/checkout@v4
      - run: echo \${{ github.event.pull_request.title }}
`;
  const text = `on: pull_request_target\njobs:\n  a:\n    runs-on: ubuntu-latest\n    need: b\n    steps:\n${steps}`;
  mkdirSync(join(dir, '.github/workflows'), { recursive: true });
  mkdirSync(join(dir, '.git'));
  writeFileSync(join(dir, '.github/workflows/a.yaml'), text);
  expect((await byActionlint(dir)).out).toContain('unexpected key "need"');
  const { code, out } = await byZizmor(dir);
  expect(out).toMatch(/unpinned-uses[\s\S]*template-injection|template-injection[\s\S]*unpinned-uses/);
  expect(code).not.toBe(0);
});
