import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { readDocument } from '../support/documents.ts';
import { contracts } from '../support/generated/contracts.ts';
import { ROOT } from '../support/source-tree.ts';

const FILES = Object.keys(contracts());
const TYPE = 'ODCS_CONTRACT';
const group = `contracts-${randomUUID()}`;
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const groups = () => `${new URL(inject('registryUrl')).origin}/apis/registry/v3/groups`;

async function call(method: string, url: string, body?: string, type = 'application/json') {
  const response = await fetch(url, {
    method,
    ...(body !== undefined && { body, headers: { 'content-type': type } }),
  });
  return { status: response.status, text: await response.text() };
}

const register = (artifactId: string, content: string, into: string) =>
  call(
    'POST',
    `${groups()}/${into}/artifacts`,
    JSON.stringify({
      artifactId,
      artifactType: TYPE,
      firstVersion: { version: '1.0.0', content: { content, contentType: 'application/x-yaml' } },
    }),
  );

/** A group that checks what is registered in it. */
async function checkedGroup(level: 'SYNTAX_ONLY' | 'FULL'): Promise<string> {
  const groupId = `${group}-${level}`;
  expect((await call('POST', groups(), JSON.stringify({ groupId }))).status).toBe(200);
  const rule = JSON.stringify({ ruleType: 'VALIDITY', config: level });
  expect((await call('POST', `${groups()}/${groupId}/rules`, rule)).status).toBe(204);
  return groupId;
}

describe('Apicurio', () => {
  beforeAll(async () => {
    const types = await call('GET', `${groups().replace(/groups$/, '')}admin/config/artifactTypes`);
    // Registries before 3.3 do not know the standard, nor does the one that runs on Java 17.
    expect(JSON.parse(types.text).map(({ name }: { name: string }) => name)).toContain(TYPE);
  });

  it.each(FILES)('takes %s as a contract of the standard, and gives it back byte for byte', async (path) => {
    const text = read(path);
    const { id } = parse(text);
    const answer = await call('POST', `${groups()}/${group}/contracts`, text, 'application/x-yaml');
    expect(answer).toMatchObject({ status: 200, text: expect.stringContaining(id) });
    expect(await call('GET', `${groups()}/${group}/contracts/${id}`)).toEqual({ status: 200, text });
    const artifact = JSON.parse((await call('GET', `${groups()}/${group}/artifacts/${id}`)).text);
    expect(artifact).toMatchObject({ artifactType: TYPE });
  });

  it('keeps them under the names of their topics too, and checks their syntax', async () => {
    const into = await checkedGroup('SYNTAX_ONLY');
    for (const path of FILES) {
      const topic = basename(path, '.odcs.yaml');
      expect((await register(topic, read(path), into)).status, path).toBe(200);
      const content = `${groups()}/${into}/artifacts/${topic}/versions/1.0.0/content`;
      expect((await call('GET', content)).text).toBe(read(path));
    }
    const refused = await register('broken', ': [', into);
    expect(refused).toMatchObject({ status: 400, text: expect.stringContaining('Invalid YAML syntax') });
  });

  it('takes one by the command of the documentation', async () => {
    const [command = ''] = readDocument('docs/contracts.md')
      .blocks.map(({ text }) => text)
      .filter((text) => text.startsWith('curl '));
    expect(command).toContain('/groups/payments/contracts');
    const here = command
      .replace('http://localhost:8081', new URL(inject('registryUrl')).origin)
      .replace('/payments/', `/${group}-documented/`);
    const { stdout } = await promisify(execFile)('bash', ['-c', here], { cwd: ROOT });
    expect(JSON.parse(stdout)).toMatchObject({
      contractId: parse(read('schemas/contracts/payment-status.odcs.yaml')).id,
    });
  });

  // Remove the note of docs/contracts.md when a version takes them.
  it('finds them incomplete at its level FULL, which asks for a member that ODCS 3.1 does not have', async () => {
    const [path = ''] = FILES;
    const refused = await register('full', read(path), await checkedGroup('FULL'));
    expect(refused.status).toBe(400);
    expect(JSON.parse(refused.text).causes).toEqual([
      { description: "Missing required field 'info'", context: '/info' },
    ]);
  });
});
