import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { observeControl } from '../../../src/control/observe-control.ts';
import { spoolMetrics } from '../../../src/delivery/store/observe-spool.ts';
import { observeDelivery } from '../../../src/ingress/observe-delivery.ts';
import { createIngressObserver } from '../../../src/ingress/observe-ingress.ts';
import { observeBodyStore } from '../../../src/object-store/open-body-store.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createMetrics } from '../../../src/runtime/metrics.ts';
import { capturedLog } from '../../support/captured-log.ts';
import { CHART } from '../../support/generated/chart-readme.ts';
import { readFile } from '../../support/generated/files.ts';

type Rule = { alert?: string; record?: string; expr: string };
const rules: Rule[] = parse(readFile(`${CHART}/files/alerts.yaml`)).groups.flatMap(
  ({ rules }: { rules: Rule[] }) => rules,
);

/** Alerts on the first event of a kind: `increase(counter{matchers}[range]) > 0`, and not those that say `unless`. */
const onIncrease = rules.flatMap(({ alert, record, expr }) => {
  const match = /increase\((\w+)(?:\{(.*?)\})?\[/.exec(expr);
  return match && !expr.includes('unless')
    ? [{ alert: alert ?? record ?? '', name: match[1] ?? '', matchers: match[2] ?? '' }]
    : [];
});

/** Labels that the alert asks for, each with the values that it names. */
const wanted = (matchers: string) =>
  [...matchers.matchAll(/(\w+)=~?"(.*?)"/g)].flatMap(([, label, values = '']) =>
    values.split('|').map((value) => `${label}="${value}"`),
  );

describe('a counter that an alert watches for its first increase', () => {
  it('is there before it, at 0, in a process that has just started', async () => {
    const { logger } = capturedLog();
    const metrics = createMetrics();
    await createIngressObserver({ logger, metrics, keyring: { has: () => true, refs: () => ['eu'] } }).stop();
    observeDelivery({ metrics, clock: systemClock }, { isDue: false, take: () => [] });
    observeControl({ logger, metrics, clock: systemClock });
    observeBodyStore({ logger, metrics });
    spoolMetrics(metrics);
    const lines = (await metrics.registry.metrics()).split('\n');
    expect(onIncrease.map(({ alert }) => alert).length).toBeGreaterThan(5);
    for (const { alert, name, matchers } of onIncrease) {
      const series = lines.filter((line) => line.startsWith(name) && line.endsWith(' 0'));
      expect(series.length, alert).toBeGreaterThan(0);
      for (const label of wanted(matchers))
        expect(
          series.filter((line) => line.includes(label)),
          `${alert}: ${label}`,
        ).not.toEqual([]);
    }
  });

  it('has all stages of dead-letter records, that of commands among them', async () => {
    const metrics = createMetrics();
    observeDelivery({ metrics, clock: systemClock }, { isDue: false, take: () => [] });
    observeControl({ logger: capturedLog().logger, metrics, clock: systemClock });
    const stages = (await metrics.registry.metrics()).matchAll(
      /^hookline_dead_letters_total\{stage="(\w+)"\} 0$/gm,
    );
    expect([...stages].map(([, stage]) => stage)).toEqual([
      'DECRYPT',
      'PARSE',
      'ENCODE',
      'PRODUCE',
      'SPOOL',
      'COMMAND',
    ]);
  });
});
