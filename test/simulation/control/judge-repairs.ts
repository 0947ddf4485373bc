import type { SubscriptionRecord } from '../../../src/subscriptions/subscription-record.ts';
import { follow, type Known } from './judge-commands.ts';
import type { EndedCommand } from './ledger.ts';

/** What control sends itself changes nothing of what the teams have asked for: their commands alone lead to the state. */
export function judgeRepairs(
  ended: readonly EndedCommand[],
  state: ReadonlyMap<string, SubscriptionRecord>,
): string[] {
  const ofTeams = ended.filter(
    ({ fields, result }) =>
      fields.ref !== undefined && fields.issuedBy === undefined && result.status !== 'REJECTED',
  );
  return [...Map.groupBy(ofTeams, ({ fields }) => `${fields.ref}`)].flatMap(([ref, of]) => {
    const known: Known = { isActive: false, id: null, events: undefined, isUnfinished: false };
    for (const command of of.toSorted((a, b) => a.offset - b.offset)) follow(known, command);
    const record = state.get(ref);
    const isActive = record?.state === 'ACTIVE';
    if (known.isActive !== undefined && known.isActive !== isActive)
      return [`${ref}: its team has left it ${known.isActive ? 'ACTIVE' : 'without one'}, and it is not`];
    const events = record?.events.toSorted().join(', ');
    if (!isActive || known.events === undefined || known.events === events) return [];
    return [`${ref}: its team has left it the events "${known.events}", and it has "${events}"`];
  });
}
