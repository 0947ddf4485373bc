/** Fuzzes every decoder: `node test/hostile/fuzz/main.ts [--seed N] [--cases N]`. */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { runFuzz } from './run-fuzz.ts';

const { values } = parseArgs({ options: { seed: { type: 'string' }, cases: { type: 'string' } } });
const seed = Number(values.seed ?? randomInt(2 ** 31));
const cases = Number(values.cases ?? 1_000_000);
const rows = await runFuzz({ seed, cases, log: (line) => process.stdout.write(`${line}\n`) });
const failed = rows.filter((row) => row.failed !== null);
for (const row of failed) process.stdout.write(`\n${row.decoder}\n${row.failed}\n`);
process.stdout.write(
  `${rows.reduce((sum, row) => sum + row.cases, 0)} cases, seed ${seed}: ${failed.length} decoders failed\n`,
);
process.exitCode = failed.length > 0 ? 1 : 0;
