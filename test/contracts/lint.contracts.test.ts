import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { contracts } from '../support/generated/contracts.ts';
import { ROOT } from '../support/source-tree.ts';
import { type Datacontract, openDatacontract } from './support/datacontract.ts';

type Property = {
  name: string;
  logicalType: string;
  physicalType: string;
  required?: boolean;
  description?: string;
  properties?: Property[];
  items?: Property;
};
type Contract = {
  schema: [{ name: string; authoritativeDefinitions: [{ url: string }]; properties: Property[] }];
};

const FILES = Object.keys(contracts());
const dir = mkdtempSync(join(tmpdir(), 'hookline-contracts-'));
let datacontract: Datacontract;

beforeAll(async () => {
  datacontract = await openDatacontract();
}, 15 * 60_000);
afterAll(() => rmSync(dir, { recursive: true }));

const changed = (path: string, from: RegExp, to: string) => {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const file = join(dir, 'changed.odcs.yaml');
  const written = text.replace(from, to);
  expect(written).not.toBe(text);
  writeFileSync(file, written);
  return file;
};

/** Each property by its path, with what an Avro schema says of it. */
function leaves(properties: readonly Property[], path = ''): string[] {
  return properties.flatMap(
    ({ name, logicalType, physicalType, required, description, properties = [], items }) => {
      const at = `${path}${name}`;
      const own = `${at}: ${logicalType} ${physicalType} ${required} ${description}`;
      const inItems = items ? [{ ...items, name: '[]', required: true }] : [];
      return [own, ...leaves(properties, `${at}.`), ...leaves(inItems, at)];
    },
  );
}

describe('datacontract-cli', () => {
  it.each(FILES)('finds that %s is a contract of ODCS 3.1', async (path) => {
    const { exitCode, checks } = await datacontract.lint(join(ROOT, path));
    expect(checks.map(({ name, result }) => [name, result])).toEqual([
      ['Data contract is valid against ODCS v3.1.0', 'passed'],
    ]);
    expect(exitCode).toBe(0);
  });

  it.each([
    ['without a status', /^status: .*\n/m, ''],
    ['with a logical type that ODCS does not have', /logicalType: timestamp/, 'logicalType: instant'],
    ['with a member that ODCS does not have', /^domain: /m, 'area: '],
  ])('refuses a contract %s', async (_, from, to) => {
    const { exitCode, checks } = await datacontract.lint(
      changed('schemas/contracts/payment-status.odcs.yaml', from, to),
    );
    expect([exitCode, checks.filter(({ result }) => result !== 'passed').length > 0]).toEqual([1, true]);
  });

  // Bytes are the one type that ODCS has no word for: the tool imports them as an array.
  it.each(FILES.filter((path) => !path.endsWith('/subscriptions.odcs.yaml')))(
    'reads from the Avro schema the properties that %s has',
    async (path) => {
      const contract: Contract = parse(readFileSync(join(ROOT, path), 'utf8'));
      const [{ name, authoritativeDefinitions, properties }] = contract.schema;
      const imported = (await datacontract.importAvro(
        join(ROOT, authoritativeDefinitions[0].url),
      )) as Contract;
      expect(imported.schema[0].name).toBe(name);
      expect(leaves(properties)).toEqual(leaves(imported.schema[0].properties));
    },
  );
});
