import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readFile } from '../../support/generated/files.ts';

const FOLDER = 'test/deploy/night';

it('each alert of the runbook is provoked by the drill', () => {
  const drills = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.night.test.ts'));
  const fired = drills.flatMap((name) => [
    ...readFile(`${FOLDER}/${name}`).matchAll(/night\.fires\('(\w+)'/g),
  ]);
  const alerts = [...readFile('deploy/RUNBOOK.md').matchAll(/^## (Hookline\w+)$/gm)];
  const names = (matches: RegExpMatchArray[]) => new Set(matches.map(([, name]) => name));
  expect([...names(alerts)].filter((alert) => !names(fired).has(alert))).toEqual([]);
});
