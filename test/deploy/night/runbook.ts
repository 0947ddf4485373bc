import { CHART } from '../../support/generated/chart-readme.ts';
import { readFile } from '../../support/generated/files.ts';

type Panel = { title: string; type: string; targets?: { expr: string }[] };

const sections = new Map(
  readFile('deploy/RUNBOOK.md')
    .split(/^## (?=Hookline)/m)
    .slice(1)
    .map((section) => [section.split('\n')[0], section.replaceAll(/\s+/g, ' ')]),
);
const panels: readonly Panel[] = JSON.parse(readFile(`${CHART}/files/dashboard.json`)).panels.filter(
  ({ type }: Panel) => type !== 'row',
);

/** The dashboard's own, when it is opened. */
export const DASHBOARD_RANGE_S = 3_600;

/** One section of the runbook, in a single line. */
function sectionOf(alert: string): string {
  const section = sections.get(alert);
  if (section === undefined) throw new Error(`the runbook has no section ${alert}`);
  return section;
}

/** Takes the operator at the runbook's word: throws where the section doesn't say it. */
export function bySection(alert: string, words: string): void {
  if (!sectionOf(alert).includes(words)) throw new Error(`the runbook's ${alert} does not say: ${words}`);
}

/** The panels that a section has one look at, with what they show of a namespace. */
export function panelsOf(alert: string, namespace: string): { title: string; expressions: string[] }[] {
  const section = sectionOf(alert);
  return panels
    .filter(({ title }) => section.includes(`"${title}"`))
    .map(({ title, targets = [] }) => ({
      title,
      expressions: targets.map(({ expr }) =>
        expr
          .replaceAll('$namespace', namespace)
          .replaceAll('$__rate_interval', '1m')
          .replaceAll('$__range', `${DASHBOARD_RANGE_S}s`),
      ),
    }));
}
