import type { Random } from '../../faults/random.ts';
import { KNOWN_RUN } from '../provider/model-provider.ts';

/** A command that is sent to control: its fields as its record has them. */
export type PlannedCommand = {
  readonly number: number;
  readonly at: number;
  readonly ref: string;
  readonly fields: Fields;
  /** After so long its record is sent once more. */
  readonly againMs?: number;
};

export type Fields = {
  readonly commandId: string;
  readonly type: string;
  readonly ref?: string;
  readonly events?: readonly string[];
  readonly executionIds?: readonly string[];
  readonly dryRun?: boolean;
  readonly ifMatch?: string;
  /** Of commands that control itself has sent. */
  readonly issuedBy?: string;
};

const REFS = 5;
const COMMANDS = 20;
const EVENTS = ['payment-status', 'accounts-entries', 'collection-status'];

/**
 * Twenty commands over five refs: most create, change and delete.
 * @param isAdopting some take over a subscription that was there before
 */
export function planCommands(random: Random, latestMs: number, isAdopting: boolean): PlannedCommand[] {
  const times = Array.from({ length: COMMANDS }, () => Math.floor(random.next() * latestMs));
  return times
    .sort((a, b) => a - b)
    .map((at, number) => {
      const ref = `ref-${random.below(REFS)}`;
      const again = random.chance(0.08) ? { againMs: random.pick([1, 500, 6_000]) } : {};
      return { number, at, ref, fields: fieldsOf(random, { number, ref, isAdopting }), ...again };
    });
}

function fieldsOf(
  random: Random,
  { number, ref, isAdopting }: { number: number; ref: string; isAdopting: boolean },
): Fields {
  const commandId = `c-${number}`;
  const events = EVENTS.filter(() => random.chance(0.5));
  const some = events.length > 0 ? { events } : {};
  const rare = {
    ...(random.chance(0.05) && { dryRun: true }),
    ...(random.chance(0.04) && { ifMatch: `c-${random.below(COMMANDS)}` }),
  };
  const drawn = random.next();
  if (drawn < 0.25 && isAdopting)
    return { commandId, type: 'subscription.adopt', ref, ...(random.chance(0.5) && some), ...rare };
  if (drawn < 0.4) return { commandId, type: 'subscription.create', ref, ...some, ...rare };
  if (drawn < 0.62) return { commandId, type: 'subscription.update', ref, ...some, ...rare };
  if (drawn < 0.82) return { commandId, type: 'subscription.delete', ref, ...rare };
  if (drawn < 0.9) {
    const executionIds = Array.from({ length: random.between(1, 3) }, (_, n) => `${KNOWN_RUN}${number}-${n}`);
    return { commandId, type: 'webhook.replay', ref, executionIds };
  }
  if (drawn < 0.96) return { commandId, type: 'subscription.list' };
  return { commandId, type: 'subscription.rename', ref };
}
