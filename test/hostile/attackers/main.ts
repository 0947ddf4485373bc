/**
 * An attacker in a process of its own, so that it does not disturb what is measured. Its plan comes as a message; it
 * attacks until the next message, and then tells what it saw.
 */
import { once } from 'node:events';
import { cutOff, deaf, flood, hold, reset } from './attacks.ts';
import type { AttackPlan } from './plan.ts';
import { Tally } from './tally.ts';

const [plan] = (await once(process, 'message')) as [AttackPlan];
const tally = new Tally();
process.once('disconnect', () => process.exit(0));
process.once('message', () => {
  process.send?.(tally.seen(), () => process.disconnect());
  tally.stop();
});

process.send?.('begun');
await begin(plan);

function begin(plan: AttackPlan): void | Promise<void> {
  switch (plan.kind) {
    case 'hold':
      return hold(plan, tally);
    case 'flood':
      return flood(plan, tally);
    case 'reset':
      return reset(plan, tally).then(() => void process.send?.('done'));
    case 'cut-off':
      return cutOff(plan, tally).then(() => void process.send?.('done'));
    case 'deaf':
      return deaf(plan, tally);
  }
}
