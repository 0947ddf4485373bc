import { useStack } from '../stack/use-stack.ts';
import { ControlFixture } from '../support/control-fixture.ts';
import { deliverAll } from './deliver-all.ts';
import { readBack } from './read-back.ts';
import { showRows } from './show-rows.ts';

/**
 * The main job, shown: a real Kafka and a real schema registry, the provider emulated, ingress and control as
 * processes of their own. It ends by itself, leaves nothing behind, and ends with 1 where a row isn't as the contract
 * says.
 */
const began = performance.now();
const say = (line = '') => console.log(line);
const step = (text: string) => say(`\n▸ ${text}`);
const interrupted = new AbortController();
process.once('SIGINT', () => interrupted.abort(new Error('interrupted')));

step('A real Kafka and a real schema registry');
await using stack = await useStack({
  env: process.env,
  signal: interrupted.signal,
  onProgress: (line) => say(`  ${line}`),
});

step('Topics and schemas (hookline topics apply, schemas push), provider, ingress, control');
// A Kafka that is used for more than this keeps its own topics.
const prefix = stack.traces ? 'payments' : undefined;
await using the = await ControlFixture.make(stack, {}, prefix);
say(`  provider  ${the.sandbox.url}   (emulated by Hookline's sandbox)`);
say(`  ingress          ${the.ingress.url}   (process ${the.ingress.process.pid})`);
say(`  control          steered by ${the.fixture.topic('commands')}   (process ${the.control.pid})`);

step('A team sends one message, and waits for its result');
const command = {
  type: 'subscription.create',
  ref: 'ledger-eu',
  events: ['payment_status', 'accounts-entries', 'collection-status'],
  issuedBy: 'ledger',
};
say(`  ${the.fixture.topic('commands')} <- ${JSON.stringify(command)}`);
const result = await the.run(command);
say(
  `  ${the.fixture.topic('command-results')} -> ${result.status}, ${result.message}; the service calls it ${result.subscriptionId}`,
);

step('The provider delivers; Hookline answers 200 only when Kafka has confirmed');
const sent = await deliverAll(the, say);

step('Everything read back from Kafka');
const rows = await readBack(the, sent);
showRows(rows, say, process.stdout.columns);

const wrong = rows.filter((row) => row.faults.length > 0);
for (const row of wrong) say(`  NOT AS THE CONTRACT SAYS: ${row.sent.what}: ${row.faults.join('; ')}`);
const isDone = result.status === 'SUCCEEDED' && wrong.length === 0;
process.exitCode = isDone ? 0 : 1;
say(
  `\n${isDone ? '✓' : '✗'} ${rows.length - wrong.length} of ${rows.length} as the contract says, in ${Math.round((performance.now() - began) / 1_000)} s.`,
);
if (isDone) say('  Next: README.md, "Your first webhook".');
