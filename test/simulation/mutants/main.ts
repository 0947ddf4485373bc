/**
 * `make simulate-mutants`: simulates each mutant of the production code until it breaks a promise. Ends with 1 where one
 * survives: then an oracle is missing.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { MUTANTS } from './mutants.ts';

const { values } = parseArgs({
  options: {
    /** Only those whose name has this text. */
    only: { type: 'string', default: '' },
    /** Only those that schedules of webhooks, or of control, find. */
    of: { type: 'string' },
    /** Of simulation, for each. */
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
  },
});
/** A mutant that hangs is found, too: no promise of it is ever kept. Longer than each run takes on a machine with other work. */
const timeout = 60_000 * Number(values.minutes) + 120_000;

const here = import.meta.dirname;
const args = ['--import', join(here, 'apply.ts'), join(here, '../main.ts')];
const chosen = [...MUTANTS.entries()].filter(
  ([, { name, of = 'webhooks' }]) => name.includes(values.only) && (values.of ?? of) === of,
);
/** Schedules that have broken a promise once, then those of seeds. */
const runsOf = (of: 'webhooks' | 'control') => {
  const plans = join(here, '../regressions', of);
  return [
    readdirSync(plans).flatMap((file) => ['--plan', join(plans, file)]),
    ['--of', of, '--seed', values.seed, '--minutes', values.minutes],
  ];
};

/** What a mutant breaks; or why it cannot be simulated. */
function simulate(number: number): { readonly found?: string; readonly failure?: string } {
  const env = { ...process.env, HOOKLINE_MUTANT: `${number}` };
  for (const run of runsOf(MUTANTS[number]?.of ?? 'webhooks')) {
    const all = [...args, ...run, '--first'];
    const { stdout, stderr, status } = spawnSync(process.execPath, all, { env, encoding: 'utf8', timeout });
    if (status === null) return { found: 'it hangs' };
    const found = /^seed .*commit \w+: (.*)$/m.exec(stdout)?.[1];
    if (found !== undefined) return { found };
    if (status !== 0) return { failure: stderr.slice(0, 2_000) };
  }
  return {};
}

let survivors = 0;
for (const [number, { name }] of chosen) {
  const began = performance.now();
  const { found, failure = '' } = simulate(number);
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  if (found === undefined) survivors++;
  if (found === undefined) console.log(`NOT FOUND in ${seconds} s: ${name}\n${failure}`);
  else console.log(`found after ${seconds} s: ${name}\n    ${found.slice(0, 150)}`);
}
console.log(`mutants ${chosen.length}, survivors ${survivors}`);
process.exitCode = survivors > 0 ? 1 : 0;
