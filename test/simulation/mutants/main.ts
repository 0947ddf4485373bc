/**
 * `make simulate-mutants`: simulates each mutant of the production code until it breaks a promise. Ends with 1 where one
 * survives: then an oracle is missing.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { MUTANTS } from './mutants.ts';

const { values } = parseArgs({
  options: {
    /** Only those whose name has this text. */
    only: { type: 'string', default: '' },
    /** Of simulation, for each. */
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
  },
});
/** A mutant that hangs is found, too: no promise of it is ever kept. */
const timeout = 60_000 * Number(values.minutes) + 10_000;

const here = import.meta.dirname;
const args = ['--import', join(here, 'apply.ts'), join(here, '../main.ts')];
const chosen = [...MUTANTS.entries()].filter(([, { name }]) => name.includes(values.only));
let survivors = 0;
for (const [number, { name }] of chosen) {
  const began = performance.now();
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [...args, '--seed', values.seed, '--minutes', values.minutes, '--first'],
    { env: { ...process.env, HOOKLINE_MUTANT: `${number}` }, encoding: 'utf8', timeout },
  );
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  const hangs = status === null ? 'it hangs' : undefined;
  const found = hangs ?? /^seed .*commit \w+: (.*)$/m.exec(stdout)?.[1];
  if (status !== 0 && found) console.log(`found after ${seconds} s: ${name}\n    ${found.slice(0, 150)}`);
  else {
    survivors++;
    console.log(`NOT FOUND in ${seconds} s: ${name}\n${status === 0 ? '' : stderr.slice(0, 2_000)}`);
  }
}
console.log(`mutants ${chosen.length}, survivors ${survivors}`);
process.exitCode = survivors > 0 ? 1 : 0;
