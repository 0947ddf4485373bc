import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { CHART } from '../../support/generated/chart-readme.ts';
import { readFile } from '../../support/generated/files.ts';
import { shortenRules } from './shorten-rules.ts';

type Rule = { alert?: string; record?: string; expr: string; for?: string };
const shipped = readFile(`${CHART}/files/alerts.yaml`);
const rulesOf = (text: string): Rule[] => parse(text).groups.flatMap(({ rules }: { rules: Rule[] }) => rules);
const shortened = (expr: string, more = {}) =>
  rulesOf(
    shortenRules(JSON.stringify({ groups: [{ name: 'g', rules: [{ alert: 'A', expr, ...more }] }] })),
  )[0];

describe('the rules of the night drill', () => {
  it('have shorter ranges, offsets, ages and waits', () => {
    expect(shortened('rate(x[5m])', { for: '10m', keep_firing_for: '5m' })).toMatchObject({
      expr: 'rate(x[10s])',
      for: '20s',
      keep_firing_for: '10s',
    });
    expect(shortened('rate(x[2m])')?.expr).toBe('rate(x[10s])');
    expect(shortened('increase(x[1h] offset 1w) > 10')?.expr).toBe('increase(x[120s] offset 20160s) > 10');
    expect(shortened('time() - x < 21600')?.expr).toBe('time() - x < 720');
  });

  it('leave what is no time as it is', () => {
    for (const expr of ['x > 64 * 1024 * 1024', 'x > 0.01', 'histogram_quantile(0.99, x) > 2.5'])
      expect(shortened(expr)?.expr).toBe(expr);
  });

  it('are all that are shipped, none of them waiting for longer than two minutes', () => {
    const rules = rulesOf(shortenRules(shipped));
    const namesOf = (all: Rule[]) => all.map(({ alert, record }) => alert ?? record);
    expect(namesOf(rules)).toEqual(namesOf(rulesOf(shipped)));
    for (const { alert, for: wait = '0s' } of rules)
      expect(Number.parseInt(wait, 10), alert).toBeLessThanOrEqual(120);
    expect(rules.map(({ expr }) => expr).join()).not.toMatch(/\[\d+[mhdw]\]/);
  });
});
