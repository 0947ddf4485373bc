import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readDocument, sectionOf, tableRows } from '../../support/documents.ts';
import { CHART } from '../../support/generated/chart-readme.ts';
import { readFile } from '../../support/generated/files.ts';

type Rule = { alert?: string; labels?: { severity?: string } };
const rules: Rule[] = parse(readFile(`${CHART}/files/alerts.yaml`)).groups.flatMap(
  ({ rules }: { rules: Rule[] }) => rules,
);
const withSeverity = (wanted: string) =>
  rules.flatMap(({ alert, labels }) => (alert && labels?.severity === wanted ? [alert] : []));

/** The two objectives. */
const OBJECTIVES = ['HooklineWebhooksNotAcknowledged', 'HooklineEventsNotDelivered'];

describe('what pages', () => {
  it('are the two objectives, and what docs/decisions.md gives a reason for', () => {
    const reasons = tableRows(sectionOf(readDocument('docs/decisions.md'), '## What pages'));
    const justified = reasons.flatMap(([names = '']) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    );
    expect(justified.length).toBeGreaterThan(2);
    expect(withSeverity('critical').sort()).toEqual([...OBJECTIVES, ...justified].sort());
  });

  it('are tickets too, where an objective is missed slowly', () => {
    expect(OBJECTIVES.filter((name) => !withSeverity('warning').includes(name))).toEqual([]);
  });

  it('leaves every other alert a ticket or context', () => {
    const others = rules.filter(
      ({ alert, labels }) => alert && !/^(critical|warning|info)$/.test(labels?.severity ?? ''),
    );
    expect(others).toEqual([]);
  });

  it('is in the runbook with its causes: each is an alert that has a section', () => {
    const runbook = readFile('deploy/RUNBOOK.md');
    for (const objective of OBJECTIVES) {
      const section = runbook.split(`\n## ${objective}\n`)[1]?.split('\n## ')[0] ?? '';
      const causes = [...section.matchAll(/\[(Hookline\w+)\]\(#(\w+)\)/g)];
      expect(causes.length, objective).toBeGreaterThan(4);
      for (const [, name = '', anchor] of causes) {
        expect(anchor).toBe(name.toLowerCase());
        expect([...withSeverity('warning'), ...withSeverity('info')]).toContain(name);
      }
    }
  });
});
