/**
 * `make simulate-mutants`: simulates each mutant of the production code until it breaks a promise. Ends with 1 where one
 * survives: then an oracle is missing.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { MUTANTS } from './mutants.ts';

/** Of simulation, for each. */
const MINUTES = '1';
/** A mutant that hangs is found, too: no promise of it is ever kept. */
const TIMEOUT_MS = 75_000;

const here = import.meta.dirname;
const args = ['--import', join(here, 'apply.ts'), join(here, '../main.ts')];
const only = process.argv[2]?.toLowerCase();
let survivors = 0;
for (const [number, { name }] of MUTANTS.entries()) {
  if (only !== undefined && !name.toLowerCase().includes(only)) continue;
  const began = performance.now();
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [...args, '--seed', '1', '--minutes', MINUTES, '--first'],
    { env: { ...process.env, HOOKLINE_MUTANT: String(number) }, encoding: 'utf8', timeout: TIMEOUT_MS },
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
console.log(`mutants ${MUTANTS.length}, survivors ${survivors}`);
process.exitCode = survivors > 0 ? 1 : 0;
