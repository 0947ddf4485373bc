import type { Simulation } from '../engine/simulation.ts';
import type { Attempt, Host } from './host.ts';
import { KEYS, webhookOf } from './messages.ts';
import type { Sender } from './sender.ts';

/** Until all that is checked from time to time has been. */
const CHECKED_MS = 8_000;
/** For an event whose brokers answer at once. */
const SOON_MS = 1_500;
const FIRST_PROBE = 5_000;

type Parts = { readonly simulation: Simulation; readonly host: Host; readonly sender: Sender };

/** When everything works again, the process is ready, and the next event of each key goes to Kafka at once. */
export async function probeRecovered({ simulation, host, sender }: Parts): Promise<string[]> {
  await simulation.runUntil(simulation.now + CHECKED_MS);
  const trouble = host.current?.trouble() ?? null;
  const before = host.attempts.length;
  for (const [n, key] of KEYS.entries())
    sender.plan(webhookOf(FIRST_PROBE + n, key, 'event'), simulation.now);
  await simulation.runUntil(simulation.now + 2 * SOON_MS);
  const faults = host.attempts.slice(before).flatMap(faultOf);
  return trouble === null ? faults : [`it is not ready when all is over: ${trouble}`, ...faults];
}

function faultOf({ webhook, answer, arrivedAt, answeredAt }: Attempt): string[] {
  const ms = answeredAt - arrivedAt;
  const stored = answer && answer !== 'reset' ? answer.receipt?.stored : undefined;
  if (stored === 'kafka' && ms <= SOON_MS) return [];
  return [`${webhook.key}: when all is over an event is stored in ${stored ?? 'nothing'} after ${ms} ms`];
}
