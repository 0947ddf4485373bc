import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { WEBHOOK_ERRORS } from '../../src/core/webhook-errors.ts';
import type { Metrics } from '../../src/runtime/metrics.ts';
import { allMetrics, metricsByProcess } from '../support/all-metrics.ts';
import { CHART } from '../support/generated/chart-readme.ts';
import { readFile } from '../support/generated/files.ts';

type Alert = { alert: string; expr: string; annotations: { runbook_url: string } };
type Rule = Alert | { record: string; expr: string };
type Panel = { title: string; type: string; description?: string; targets?: { expr: string }[] };

const allRules: Rule[] = parse(readFile(`${CHART}/files/alerts.yaml`)).groups.flatMap(
  (group: { rules: Rule[] }) => group.rules,
);
const rules = allRules.filter((rule) => 'alert' in rule);
/** What recording rules make of the metrics. */
const recorded = allRules.flatMap((rule) => ('record' in rule ? [rule.record] : []));
const panels: Panel[] = JSON.parse(readFile(`${CHART}/files/dashboard.json`)).panels;
const expressions = panels.flatMap(({ targets }) => targets ?? []).map(({ expr }) => expr);
const runbook = readFile('deploy/RUNBOOK.md');

/** Names as a scrape has them: a histogram stands for its buckets, sum and count. */
const scraped = new Set(
  allMetrics()
    .registry.getMetricsAsArray()
    .flatMap(({ name, type }) =>
      // prom-client numbers its types: 2 is the histogram.
      String(type) === 'histogram' || Number(type) === 2
        ? [`${name}_bucket`, `${name}_sum`, `${name}_count`]
        : [name],
    ),
);
const namesIn = (texts: readonly string[]) =>
  new Set(
    texts.flatMap((text) =>
      [...text.matchAll(/\b(?:hookline|process|nodejs)_[a-z_]+\b/g)].map(([name]) => name),
    ),
  );

/** Type, labels and help by the name of each metric, without those of Node.js. */
const described = ({ registry }: Metrics) =>
  Object.fromEntries(
    registry
      .getMetricsAsArray()
      .filter(({ name }) => name.startsWith('hookline_'))
      .map((metric) => {
        const { name, type, labelNames: labels, help } = metric as typeof metric & { labelNames: string[] };
        return [name, { type, labels: [...labels], help }];
      }),
  );

describe('the metrics of the processes', () => {
  const listed = parse(readFile('test/deploy/metrics.yaml'));

  it.each(Object.entries(metricsByProcess()))('keep name, type, labels and help: %s', (process, metrics) => {
    expect(described(metrics)).toEqual(listed[process]);
  });
});

describe('dashboard and alerts', () => {
  it('ask for metrics that there are', () => {
    const texts = [...expressions, ...allRules.map(({ expr }) => expr)];
    const ofRules = new Set(texts.flatMap((text) => text.match(/\bnamespace:\w+:\w+/g) ?? []));
    expect([...ofRules].filter((name) => !recorded.includes(name))).toEqual([]);
    expect(recorded.filter((name) => !ofRules.has(name))).toEqual([]);
    const asked = namesIn(texts.map((text) => text.replaceAll(/\bnamespace:\w+:\w+/g, '')));
    expect(asked.size).toBeGreaterThan(25);
    expect([...asked].filter((name) => !scraped.has(name))).toEqual([]);
  });

  it("leave none of Hookline's metrics unseen: the dashboard has them all", () => {
    const shown = namesIn(expressions);
    const ours = allMetrics()
      .registry.getMetricsAsArray()
      .map(({ name }) => name)
      .filter((name) => name.startsWith('hookline_'));
    expect(ours.filter((name) => !shown.has(name) && !shown.has(`${name}_bucket`))).toEqual([]);
  });

  it('tell of every panel what it shows', () => {
    const silent = panels.filter(({ type, title }) => type !== 'row' && title.trim() === '');
    expect(silent).toEqual([]);
    expect(panels.filter(({ type }) => type === 'row').map(({ title }) => title)).toEqual([
      'Are the objectives met?',
      'Is money flowing?',
      'Is anything refused?',
      'Is anything waiting?',
      'Is the provider well?',
      'Are the processes well?',
    ]);
  });
});

/** Alerts under their former names, which fire too for one release. The runbook keeps only their anchors. */
const FORMER = ['HooklineIngressNotReady'];

describe('the runbook', () => {
  const sections = [...runbook.matchAll(/^## (Hookline\w+)$/gm)].map(([, name]) => name);

  it('has a section for each alert, and for no other, in their order', () => {
    const alerts = [...new Set(rules.map(({ alert }) => alert))];
    expect(sections).toEqual(alerts.filter((alert) => !FORMER.includes(alert)));
  });

  it('is where each alert leads to', () => {
    for (const { alert, annotations } of rules)
      expect(annotations.runbook_url).toBe(`RUNBOOK.md#${alert.toLowerCase()}`);
    for (const alert of FORMER) expect(runbook).toContain(`<a id="${alert.toLowerCase()}"></a>`);
  });

  it('leads in each section to a panel of the dashboard, by its title, and to nothing else that is not there', () => {
    const titles = panels.filter(({ type }) => type !== 'row').map(({ title }) => title);
    for (const section of runbook.split(/^## (?=Hookline)/m).slice(1)) {
      const quoted = [...section.replaceAll(/\s+/g, ' ').matchAll(/(?<!\S)"([A-Z][^"]+)"/g)].map(
        ([, name]) => name,
      );
      const seen = quoted.filter((name) => titles.includes(name ?? ''));
      expect(seen.length, section.split('\n')[0]).toBeGreaterThan(0);
      expect(quoted.filter((name) => !seen.includes(name))).toEqual([]);
    }
  });

  it('names each code of a webhook that is refused, and an alert watches it', () => {
    const codes = Object.entries(WEBHOOK_ERRORS);
    const section = (alert: string) => runbook.split(`\n## ${alert}\n`)[1]?.split('\n## ')[0] ?? '';
    const expr = rules.find(({ alert }) => alert === 'HooklineWebhooksRefused')?.expr ?? '';
    const watched = /code=~"(.*?)"/.exec(expr)?.[1]?.split('|');
    // Any scanner asks for other paths, and what is not signed has alerts of its own.
    const others = ['NOT_FOUND', 'UNAUTHENTIC'];
    const refused = codes.flatMap(([code, { status }]) => (status >= 400 && status < 500 ? [code] : []));
    expect(watched?.toSorted()).toEqual(refused.filter((code) => !others.includes(code)).toSorted());
    for (const code of watched ?? []) expect(section('HooklineWebhooksRefused')).toContain(`\`${code}\``);
    for (const [code, { status }] of codes)
      if (status >= 500) expect(section('HooklineWebhooksNotStored')).toContain(`\`${code}\``);
  });

  it('says in each section what it means, what to look at and what to do', () => {
    for (const section of runbook.split(/^## (?=Hookline)/m).slice(1)) {
      const [title = ''] = section.split('\n');
      for (const part of ['**What it means.**', '**Look at**', '**Do**'])
        expect(section, title).toContain(part);
    }
  });
});
