/**
 * `make hostile`: attacks on an ingress that runs for real with its built-in limits, honest senders beside each from the
 * same address. Ends with 1 where an attack achieved something.
 */
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { writeReport } from '../faults/report.ts';
import { useStack } from '../stack/use-stack.ts';
import { orExit } from '../support/or-exit.ts';
import { ROOT } from '../support/source-tree.ts';
import type { Row } from './attack.ts';
import { Campaign } from './campaign.ts';
import { parseOptions, USAGE } from './options.ts';
import { tableOf } from './report.ts';

const say = (line: string) => console.log(line);
const options = orExit(() => parseOptions(process.argv.slice(2)), USAGE);
const began = performance.now();
say(`seed ${options.seed} (--seed ${options.seed} makes the same inputs)`);

const rows: Row[] = [];
const broken: string[] = [];
await using stack = await useStack({ env: process.env, onProgress: say });
await using campaign = await Campaign.start(stack, options.scale);
const note = (row: Row) => {
  rows.push(row);
  const outcome = row.problems.length === 0 ? 'withstood' : 'FAILED   ';
  say(`${outcome} ${row.name} (${row.seconds.toFixed(0)} s) ${row.note}`);
  for (const problem of row.problems) broken.push(`${row.name}: ${problem}`);
};
for (const attack of options.attacks) note(await campaign.run(attack));
for (const attack of options.decoderAttacks) {
  for (const row of await attack.run({ stack, say, ...options })) note(row);
}
const { taken, held } = await campaign.stored();
if (held < taken) broken.push(`${taken} honest webhooks were answered 200, the topic holds ${held} events`);

const seconds = Math.round((performance.now() - began) / 1_000);
const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version };
const file = join(ROOT, '.local/hostile/report.json');
writeReport(file, { at: new Date().toISOString(), machine, seed: options.seed, seconds, broken, rows });
const table = tableOf(rows);
if (options.out !== undefined) writeFileSync(options.out, `${table}\n`);
say(`\n${table}\n`);
for (const line of broken) say(`FAILED: ${line}`);
say(
  `${taken} honest webhooks answered 200, ${held} events in their topic; ${seconds} s; all figures: ${file}`,
);
process.exitCode = broken.length > 0 ? 1 : 0;
