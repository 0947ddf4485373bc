import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ERRORS } from '../../src/core/errors.ts';
import { metricsByProcess } from '../support/all-metrics.ts';
import { DOCUMENTS } from '../support/documents.ts';
import { CHART } from '../support/generated/chart-readme.ts';
import { readFile } from '../support/generated/files.ts';
import { TABLES } from '../support/generated/tables.ts';

/** History names what was. */
const documents = DOCUMENTS.filter(({ path }) => path !== 'CHANGELOG.md');

const variables = [TABLES.configuration, TABLES.sandbox].flatMap((table) =>
  [...(table?.() ?? '').matchAll(/^\| `(\w+)`/gm)].map(([, name = '']) => name),
);

/** Of other programs, of the example, of the tests, and of a shell. */
const OTHERS = [
  ...['KAFKA_HEAP_OPTS', 'ERR_WORKER_OUT_OF_MEMORY', 'NOT_ENOUGH_REPLICAS'],
  ...[
    'FULL_TRANSITIVE',
    'AWS_ROLE_ARN',
    'AWS_REGION',
    'LEDGER_FILE',
    'ANALYTICS_FILE',
    // A function of SQL.
    'ROW_NUMBER',
    // A value of KAFKA_SASL_MECHANISM.
    'AWS_MSK_IAM',
    // Storage classes of S3.
    'DEEP_ARCHIVE',
    'GLACIER_IR',
    'EXIT_AT_END',
    'GROUP_ID',
    'HOOKLINE_IMAGE',
    'HOOKLINE_SANDBOX_IMAGE',
    'HOOKLINE_STACK_KAFKA',
    'HOOKLINE_STACK_REGISTRY',
    'NODE_IMAGE',
    'COSIGN_PASSWORD',
    'COSIGN_PRIVATE_KEY',
    'RELEASE_REGISTRY',
    'DATACONTRACT_KAFKA_SCHEMA_REGISTRY_URL',
    'DATACONTRACT_KAFKA_MAX_MESSAGES',
    'ODCS_CONTRACT',
    'SYNTAX_ONLY',
    // Of Jackson.
    'USE_BIG_DECIMAL_FOR_FLOATS',
    'STRIP_TRAILING_BIGDECIMAL_ZEROES',
  ],
];
const capitals = new Set([...variables, ...Object.keys(ERRORS), ...OTHERS]);

const metrics = Object.values(metricsByProcess()).flatMap(({ registry }) =>
  registry.getMetricsAsArray().map(({ name }) => name),
);
const alerts: string[] = parse(readFile(`${CHART}/files/alerts.yaml`)).groups.flatMap(
  ({ rules }: { rules: { alert?: string }[] }) => rules.flatMap(({ alert }) => alert ?? []),
);

const found = (text: string, name: RegExp) => [...new Set(text.match(name) ?? [])];

describe.each(documents.map((document) => [document.path, document] as const))('%s', (_, { text }) => {
  it('names variables and error codes that exist', () => {
    const named = found(text, /(?<![\w{-])[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9](?![\w-])/g);
    expect(named.filter((name) => !capitals.has(name))).toEqual([]);
  });

  it('names metrics and alerts that exist', () => {
    const named = found(text, /\bhookline_[a-z_]+\b/g);
    expect(named.filter((name) => !metrics.includes(name))).toEqual([]);
    expect(found(text, /\bHookline[A-Z]\w+/g).filter((name) => !alerts.includes(name))).toEqual([]);
  });
});

it('what is checked is named: all variables, all error codes', () => {
  expect(variables.length).toBeGreaterThan(60);
  const all = documents.map(({ text }) => text).join('\n');
  expect([...variables, ...Object.keys(ERRORS)].filter((name) => !all.includes(`\`${name}\``))).toEqual([]);
});
