import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { junitOf, type SampleResult } from '../../../src/cli/schemas/test-samples.ts';
import { cli } from '../../support/cli.ts';

const dir = mkdtempSync(join(tmpdir(), 'hookline-samples-'));
afterAll(() => rmSync(dir, { recursive: true }));

function sample(name: string, content: string | Buffer): string {
  const file = join(dir, name);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, content);
  return file;
}
/** Neither brokers nor a registry: it needs none. */
const test = (...args: string[]) => cli({}, 'schemas', 'test', ...args);

const typed = sample(
  'good/typed.json',
  '{"type":"payment-status","entityId":"e-1","payload":{"status":"ACCC"}}',
);

describe('hookline schemas test', () => {
  it('shows the record that a sample becomes, and ends with 0 where all are typed without drift', async () => {
    const { exitCode, out, notes } = await test(typed);
    expect([exitCode, notes]).toEqual([0, '1 sample(s), 0 failed']);
    expect(out).toContain('topic   payment-status');
    expect(out).toContain('"status":"ACCC"');
  });

  it.each([
    ['drift', '{"type":"payment-status","payload":{"status":7}}', 'drift: status'],
    ['a type that no schema claims', '{"type":"new","payload":{}}', 'no schema claims the type "new"'],
    ['no type', '{}', 'no schema claims the type'],
    ['no JSON', '{"type":', 'it is not JSON'],
    ['no UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 'it is not UTF-8'],
  ])(
    'ends with 1 where a sample has %s, and says what its webhook would become',
    async (name, content, words) => {
      const file = sample(`bad/${name}.json`, content);
      const { exitCode, out } = await test(file, '--json');
      expect(exitCode).toBe(1);
      const [result] = JSON.parse(out) as [SampleResult];
      expect(result).toMatchObject({ sample: file, fault: expect.stringContaining(words) });
    },
  );

  it('takes all *.json files of a folder, at any depth, in their order', async () => {
    for (const name of ['many/b/2.json', 'many/a/1.json', 'many/notes.txt'])
      sample(name, readFileSync(typed));
    const { exitCode, out } = await test(join(dir, 'many'), '--json');
    expect(exitCode).toBe(0);
    expect((JSON.parse(out) as SampleResult[]).map(({ sample }) => sample.slice(dir.length))).toEqual([
      '/many/a/1.json',
      '/many/b/2.json',
    ]);
  });

  it('tests the schemas of SCHEMAS_DIR', async () => {
    const { exitCode, notes } = await cli({ SCHEMAS_DIR: dir }, 'schemas', 'test', typed);
    expect([exitCode, notes]).toEqual([1, expect.stringContaining('events')]);
  });

  it('says that a path is missing, or a folder without samples', async () => {
    expect(await test(join(dir, 'none'))).toMatchObject({
      exitCode: 2,
      notes: expect.stringContaining('cannot be read'),
    });
    mkdirSync(join(dir, 'empty'), { recursive: true });
    expect(await test(join(dir, 'empty'))).toMatchObject({
      exitCode: 2,
      notes: expect.stringContaining('no *.json file'),
    });
  });

  it('writes the results as JUnit has them', async () => {
    const bad = sample('junit/bad.json', '{"type":"<new> & \\"more\\""}');
    const file = join(dir, 'results.xml');
    expect((await test(typed, bad, '--junit', file)).exitCode).toBe(1);
    const xml = readFileSync(file, 'utf8');
    expect(xml).toContain('<testsuite name="hookline schemas test" tests="2" failures="1">');
    expect(xml).toContain(`<testcase classname="payment-status" name="${typed}"/>`);
    expect(xml).toContain('&lt;new&gt; &amp; \\&quot;more\\&quot;');
  });

  it('leaves out of XML what it cannot hold', () => {
    const result = { sample: 'a\u0000\ud800b', topic: null, drift: [], fault: 'x\u001b\ufffe', record: null };
    expect(junitOf([result])).toContain('name="a\ufffdb"');
    expect(junitOf([result])).toContain('message="x"');
  });
});
