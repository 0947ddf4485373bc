/** A thread that does what a request says: see worker-calls.test.ts. */
import { HooklineError } from '../../src/core/errors.ts';
import { type Call, openCallPort, toFault } from '../../src/runtime/worker-calls.ts';

const port = openCallPort<string, string, string>();

function take(call: Call<string>, together: number): void {
  const { n, request } = call;
  if (request === 'die') process.exit(3);
  if (request === 'throw') throw new Error('of the thread');
  if (request === 'refuse')
    return port.answer([{ n, fault: toFault(new HooklineError('SPOOL_FULL', '16 MiB')) }]);
  if (request === 'break') return port.answer([{ n, fault: toFault(new TypeError('nothing there')) }]);
  if (request === 'count') return port.answer([{ n, result: String(together) }]);
  if (request === 'report') return port.answer([{ n, result: 'after it' }], { events: ['reported'] });
  if (request === 'hold') return port.emit('held');
  port.answer([{ n, result: `done ${request}` }]);
  if (request === 'close') port.close();
}
port.onCalls((calls) => {
  for (const call of calls) take(call, calls.length);
});
