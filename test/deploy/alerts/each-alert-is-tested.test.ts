import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { CHART } from '../../support/generated/chart-readme.ts';
import { readFile } from '../../support/generated/files.ts';

type Case = { alertname: string; exp_alerts: unknown[] };
type Group = { rules: { alert?: string }[] };

const names: string[] = [
  ...new Set<string>(
    parse(readFile(`${CHART}/files/alerts.yaml`)).groups.flatMap(({ rules }: Group) =>
      rules.flatMap(({ alert }) => alert ?? []),
    ),
  ),
];
const files = readdirSync(import.meta.dirname).filter((file) => file.endsWith('.test.yaml'));
const cases: Case[] = files.flatMap((file) =>
  parse(readFile(`test/deploy/alerts/${file}`)).tests.flatMap(
    (test: { alert_rule_test: Case[] }) => test.alert_rule_test,
  ),
);

describe("the alerts' tests", () => {
  it.each([
    ['fire', (one: Case) => one.exp_alerts.length > 0],
    ['are silent', (one: Case) => one.exp_alerts.length === 0],
  ])('have each alert %s at least once', (_, isSuch) => {
    const tested = cases.filter(isSuch).map(({ alertname }) => alertname);
    expect(names.length).toBeGreaterThan(20);
    expect(names.filter((name: string) => !tested.includes(name))).toEqual([]);
  });

  it('are about alerts that there are', () => {
    expect(cases.filter(({ alertname }) => !names.includes(alertname))).toEqual([]);
  });
});
