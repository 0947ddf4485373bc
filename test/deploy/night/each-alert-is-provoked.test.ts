import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readFile } from '../../support/generated/files.ts';
import { bySection } from './runbook.ts';

const FOLDER = 'test/deploy/night';
const drills = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.night.test.ts'));

it('each alert of the runbook is provoked by the drill', () => {
  const fired = drills.flatMap((name) => [
    ...readFile(`${FOLDER}/${name}`).matchAll(/night\.fires\('(\w+)'/g),
  ]);
  const alerts = [...readFile('deploy/RUNBOOK.md').matchAll(/^## (Hookline\w+)$/gm)];
  const names = (matches: RegExpMatchArray[]) => new Set(matches.map(([, name]) => name));
  expect([...names(alerts)].filter((alert) => !names(fired).has(alert))).toEqual([]);
});

/** What a drill does by the runbook: `bySection` and `run`, with the alert and the words. */
const BY_RUNBOOK = /\b(?:bySection|night\.run)\(\s*'(Hookline\w+)',\s*(['"])((?:(?!\2).)*)\2/g;

/** It goes by the words of the console instead. */
const BY_CONSOLE = 'the-console.night.test.ts';

it.each(drills.filter((name) => name !== BY_CONSOLE))(
  '%s does what the runbook says, in its words',
  (name) => {
    const steps = [...readFile(`${FOLDER}/${name}`).matchAll(BY_RUNBOOK)];
    expect(steps.length).toBeGreaterThan(2);
    for (const [, alert = '', , words = ''] of steps) bySection(alert, words);
  },
);
