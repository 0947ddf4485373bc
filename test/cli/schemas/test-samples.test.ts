import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { junitOf, type SampleResult } from '../../../src/cli/schemas/test-samples.ts';
import { cli } from '../../support/cli.ts';
import { ROOT } from '../../support/source-tree.ts';

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
    expect(out).toMatch(/topic +payment-status/);
    expect(out).toContain('"status":"ACCC"');
  });

  it.each([
    ['drift', '{"type":"payment-status","payload":{"status":7}}', 'drift: status'],
    ['a type that no schema claims', '{"type":"new","payload":{}}', 'no schema claims the type "new"'],
    ['no type', '{}', 'no schema claims the type'],
    ['no JSON', '{"type":', 'it is not a JSON object'],
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

  it('follows symbolic links, and takes each file once under the name that people see', async () => {
    // As Kubernetes mounts a ConfigMap.
    const mount = join(dir, 'mount');
    sample('mount/..2026_11_25/good.json', readFileSync(typed));
    sample('mount/..2026_11_25/bad.json', '{"type":"new"}');
    symlinkSync('..2026_11_25', join(mount, '..data'));
    for (const name of ['good.json', 'bad.json']) symlinkSync(`..data/${name}`, join(mount, name));
    symlinkSync('.', join(mount, 'circle'));
    symlinkSync('itself', join(mount, 'itself'));
    const { exitCode, out } = await test(mount, join(mount, 'good.json'), '--json');
    const results = JSON.parse(out) as SampleResult[];
    expect([
      exitCode,
      results.map(({ sample, fault }) => [sample.slice(mount.length), fault === null]),
    ]).toEqual([
      1,
      [
        ['/bad.json', false],
        ['/good.json', true],
      ],
    ]);
  });

  it('says that a sample is a link to nothing', async () => {
    mkdirSync(join(dir, 'dangling'));
    symlinkSync('nothing', join(dir, 'dangling/a.json'));
    expect(await test(join(dir, 'dangling'))).toMatchObject({
      exitCode: 2,
      notes: expect.stringMatching(/cannot be read: .*a\.json/),
    });
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

  describe('of a type whose messages are kept', () => {
    const message = readFileSync(typed, 'utf8');
    const PLACE = 'payments.payment-status/{yyyy}/{mm}/{dd}/{eventId}.json';
    const withPolicy = (source: string) => {
      const schemas = join(dir, `schemas-${source}`);
      cpSync(join(ROOT, 'schemas'), schemas, { recursive: true });
      const file = join(schemas, 'events/payment-status.avsc');
      writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), source }));
      return { SCHEMAS_DIR: schemas };
    };
    const resultOf = async (env: Record<string, string>, file: string) =>
      (JSON.parse((await cli(env, 'schemas', 'test', file, '--json')).out) as SampleResult[])[0];
    const store = { BODY_STORE: 's3://bucket/webhooks', BODY_STORE_REGION: 'eu-central-1' };
    const reference = (root: string, text: string) => ({
      uri: `${root}/${PLACE}`,
      bytes: text.length,
      sha256: createHash('sha256').update(text).digest('hex'),
      omitted: [],
    });

    it('in the record shows it with its message', async () => {
      expect(await resultOf({}, typed)).toMatchObject({
        message: 'in the record',
        record: { source: message, sourceRef: null },
      });
    });

    it('in the object store shows it with the reference, as far as that is known', async () => {
      const env = withPolicy('reference');
      const expected = { message: 'in the object store', fault: null };
      expect(await resultOf(env, typed)).toMatchObject({
        ...expected,
        record: { source: null, status: 'ACCC', sourceRef: reference('{BODY_STORE}', message) },
      });
      expect(await resultOf({ ...env, ...store }, typed)).toMatchObject({
        ...expected,
        record: { sourceRef: reference('s3://bucket/webhooks', message) },
      });
    });

    it('nowhere shows it without; with drift the message goes to the object store', async () => {
      const env = withPolicy('omit');
      expect(await resultOf(env, typed)).toMatchObject({
        message: 'nowhere',
        record: { source: null, sourceRef: null, status: 'ACCC' },
      });
      const drifted = '{"type":"payment-status","payload":{"status":7}}';
      expect(await resultOf(env, sample('policy/drift.json', drifted))).toMatchObject({
        fault: 'drift: status',
        message: 'in the object store',
        record: { source: null, sourceRef: reference('{BODY_STORE}', drifted) },
      });
    });

    it('by size goes to BODY_STORE, if it is set', async () => {
      const large = JSON.stringify({
        type: 'payment-status',
        entityId: 'e',
        payload: {},
        more: 'x'.repeat(5_000),
      });
      const file = sample('policy/large.json', large);
      expect(await resultOf({}, file)).toMatchObject({ message: 'in the record' });
      expect(await resultOf({ ...store, CLAIM_CHECK_BYTES: '2000' }, file)).toMatchObject({
        message: 'in the object store',
        record: { sourceRef: reference('s3://bucket/webhooks', large) },
      });
    });

    it('with a name that is too long for a record with a reference says that it would be dead-lettered', async () => {
      const file = sample('policy/name.json', `{"type":"payment-status","entityId":"${'x'.repeat(5_000)}"}`);
      const dead = {
        topic: 'payment-status',
        message: null,
        fault: expect.stringMatching(/entityId has 5000 bytes.*dead-lettered \(ENCODE\)/),
      };
      for (const env of [withPolicy('omit'), withPolicy('reference'), store])
        expect(await resultOf(env, file)).toMatchObject(dead);
      expect(await resultOf({}, file)).toMatchObject({ fault: null, message: 'in the record' });
    });
  });

  it('leaves out of XML what it cannot hold', () => {
    const result = {
      sample: 'a\u0000\ud800b',
      topic: null,
      drift: [],
      fault: 'x\u001b\ufffe',
      message: null,
      record: null,
    } as const;
    expect(junitOf([result])).toContain('name="a\ufffdb"');
    expect(junitOf([result])).toContain('message="x"');
  });
});
