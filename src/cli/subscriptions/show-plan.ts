import { visible } from '../fit-columns.ts';
import { ACTIONS, type Action, type Change, type Plan } from './plan.ts';

const SIGNS: Record<Action, string> = { create: '+', adopt: '+', update: '~', replace: '~', delete: '-' };
const WORDS: Record<Action, string> = {
  create: 'will be created',
  adopt: 'will be adopted',
  update: 'will be updated',
  replace: 'will be created anew',
  delete: 'will be deleted',
};

/** A plan as lines: `+` create, `~` update, `-` delete, `!` drift. */
export function showPlan({ topic, changes, unchanged, foreign }: Plan, file: string): string[] {
  const lines = [
    ...changes.flatMap(showChange),
    ...foreign.map(({ subscriptionId, message }) => `  ! ${subscriptionId}: ${message}`),
  ];
  const body = lines.length > 0 ? ['', ...lines, ''] : [];
  const same = `${unchanged.length} as ${file} wants ${unchanged.length === 1 ? 'it' : 'them'}`;
  const sum = changes.length > 0 ? `Plan: ${countActions(changes)}; ${same}.` : `Nothing to do: ${same}.`;
  return [`Subscriptions of ${topic}:`, ...body, sum].map(visible);
}

function showChange({ ref, action, eventsBefore, eventsAfter, extra, drift }: Change): string[] {
  const head = `  ${SIGNS[action]} ${ref} ${WORDS[action]}`;
  const before = action === 'create' || action === 'replace' ? [] : eventsBefore;
  const after = eventsAfter ?? before;
  const all = [...new Set([...before, ...after])].sort();
  const sign = (event: string) => (!before.includes(event) ? '+' : after.includes(event) ? ' ' : '-');
  const told = Object.keys(extra).length > 0 ? [`      + extra ${JSON.stringify(extra)}`] : [];
  return [
    ...(drift ? [`  ! ${ref} has drifted: ${drift.message}`] : []),
    head,
    ...all.map((event) => `      ${sign(event)} ${event}`),
    ...(action === 'delete' ? [] : told),
  ];
}

/** Such as "2 to create, 1 to delete". */
function countActions(changes: readonly Change[]): string {
  return ACTIONS.map(
    (action) => [action, changes.filter((change) => change.action === action).length] as const,
  )
    .filter(([, count]) => count > 0)
    .map(([action, count]) => `${count} to ${action}`)
    .join(', ');
}
