import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { verifySettings } from '../../src/cli/verify/verify-settings.ts';
import { consoleConfig } from '../../src/console/settings/console-config.ts';
import { controlConfig } from '../../src/control/config.ts';
import { ingressConfig } from '../../src/ingress/settings.ts';
import { recordSizeSettings } from '../../src/kafka/connect/settings.ts';
import { sandboxSettings } from '../../src/sandbox/config.ts';
import { CHART } from '../support/generated/chart-readme.ts';
import { SET_BY_CHART, settingsOf } from '../support/generated/chart-settings.ts';
import { readFile } from '../support/generated/files.ts';
import { ROOT } from '../support/source-tree.ts';

const namesOf = (config: object) => settingsOf(config).map(({ name }) => name);
const ingress = namesOf(ingressConfig);
const control = namesOf(controlConfig);
const ofConsole = namesOf(consoleConfig('{TOPIC_PREFIX}'));
/** Of the jobs, beside those of the processes. */
const ofJobs = [
  ...namesOf({ recordSizeSettings }),
  ...namesOf({ verifySettings }).filter((name) => name.endsWith('_FILE')),
];
/** AWS's own, which the SDK reads: credentials by its default chain. */
const OF_AWS = ['AWS_ROLE_ARN', 'AWS_WEB_IDENTITY_TOKEN_FILE'];
const known = new Set([...OF_AWS, ...ingress, ...control, ...ofConsole, ...ofJobs]);

/** Names in a chart's environment template: the keys of plain values, `env:` of the files, and `name:` of variables. */
function namesInChart(): Set<string> {
  const text = ['_environment', '_files', '_identity', '_pod']
    .map((name) => readFile(`${CHART}/templates/${name}.tpl`))
    .join('');
  const names = text.matchAll(
    /^([A-Z][A-Z0-9_]+): |\benv: ([A-Z][A-Z0-9_]+)\b|\bname: ([A-Z][A-Z0-9_]+)\b/gm,
  );
  return new Set([...names].map(([, key, file, name]) => key ?? file ?? name ?? ''));
}

describe('the variables of the chart', () => {
  it('are read by the code, each of them', () => {
    const names = [...namesInChart()];
    expect(names.length).toBeGreaterThan(20);
    expect(names.filter((name) => !known.has(name))).toEqual([]);
  });

  it('are those that it says it sets itself', () => {
    expect([...namesInChart()].sort()).toEqual([...SET_BY_CHART, ...OF_AWS, ...ofJobs].sort());
  });

  it.each([
    ['ingress', ingress],
    ['control', control],
    ['console', ofConsole],
  ])('leave none of those that %s reads without a value to set it by', (process, names) => {
    const schema = JSON.parse(readFile(`${CHART}/values.schema.json`));
    const free = Object.keys(schema.definitions[`${process}Settings`].properties);
    expect([...free, ...SET_BY_CHART].filter((name) => names.includes(name)).sort()).toEqual(
      names.toSorted(),
    );
    expect(free.filter((name) => !names.includes(name))).toEqual([]);
  });

  it.each(readdirSync(join(ROOT, CHART, 'ci')))('in ci/%s are settings of their process', (file) => {
    const values = parse(readFile(`${CHART}/ci/${file}`));
    for (const [process, names] of Object.entries({ ingress, control, console: ofConsole })) {
      const given = Object.keys(values[process]?.settings ?? {});
      expect(given.filter((name) => !names.includes(name) || SET_BY_CHART.has(name))).toEqual([]);
    }
  });
});

describe('the variables of compose.yaml', () => {
  const { services }: { services: Record<string, { environment?: Record<string, string> }> } = parse(
    readFile('deploy/compose.yaml'),
    { merge: true },
  );
  const ofCli = [
    ...['KAFKA_BROKERS', 'SCHEMA_REGISTRY_URL', 'SANDBOX_URL'],
    ...['ALLOW_PLAINTEXT_CREDENTIALS', 'MIN_INSYNC_REPLICAS'],
  ];

  it.each([
    ['ingress', ingress, ingressConfig],
    ['control', [...control, ...ofCli], controlConfig],
    ['sandbox', Object.values(sandboxSettings).map(({ name }) => name), { sandboxSettings }],
    ['topics', ofCli, {}],
    ['schemas', ofCli, {}],
  ])('of %s are read by it, and none that it needs is missing', (service, names, config) => {
    const given = Object.keys(services[service]?.environment ?? {});
    expect(given.filter((name) => !names.includes(name))).toEqual([]);
    const needed = settingsOf(config).filter(({ required, fallback }) => required && fallback === undefined);
    expect(needed.map(({ name }) => name).filter((name) => !given.includes(name))).toEqual([]);
  });
});
