import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { cli } from '../../support/cli.ts';
import { Fixture } from '../../support/topics-fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await Fixture.make(inject('stack'), { partitions: 1 });
});
afterAll(() => fixture[Symbol.asyncDispose]());

it('does not blame brokers that answer for a faulty folder of schemas', async () => {
  const { out } = await cli({ ...fixture.env, SCHEMAS_DIR: import.meta.dirname }, 'doctor', '--json');
  const findings = JSON.parse(out) as { check: string; finding: string }[];
  const blamed = findings.filter(({ finding }) => finding.includes('schema file is invalid'));
  expect(blamed.map(({ check }) => check)).toEqual(['schema files']);
});
