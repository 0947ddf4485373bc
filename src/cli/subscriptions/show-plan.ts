import { isDeepStrictEqual } from 'node:util';
import { oneLine } from '../shell/print-rows.ts';
import { ACTIONS, type Action, type Change, type Plan } from './plan.ts';

const SIGNS: Record<Action, string> = { create: '+', adopt: '+', update: '~', replace: '~', delete: '-' };
const TEXTS: Record<Action, string> = {
  create: 'will be created',
  adopt: 'will be adopted',
  update: 'will be updated',
  replace: 'will be created again',
  delete: 'will be deleted',
};

/** A plan as lines: `+` create, `~` update, `-` delete, `!` drift. */
export function showPlan({ topic, changes, unchanged, foreign }: Plan, file: string): string[] {
  const lines = [
    ...changes.flatMap(showChange),
    ...foreign.map(({ subscriptionId, message }) => `  ! ${subscriptionId}: ${message}`),
  ];
  const body = lines.length > 0 ? ['', ...lines, ''] : [];
  const same = `${unchanged.length} already as in ${file}`;
  const sum = changes.length > 0 ? `Plan: ${countActions(changes)}; ${same}.` : `Nothing to do: ${same}.`;
  return [`Subscriptions of ${topic}:`, ...body, sum].map(oneLine);
}

function showChange(change: Change): string[] {
  const { ref, action, eventsBefore, eventsAfter, drift } = change;
  const before = action === 'create' || action === 'replace' ? [] : eventsBefore;
  const after = eventsAfter ?? before;
  const all = [...new Set([...before, ...after])].sort();
  const sign = (event: string) => (!before.includes(event) ? '+' : after.includes(event) ? ' ' : '-');
  return [
    ...(drift ? [`  ! ${ref} has drifted: ${drift.message}`] : []),
    `  ${SIGNS[action]} ${ref} ${TEXTS[action]}`,
    ...all.map((event) => `      ${sign(event)} ${event}`),
    ...(action === 'delete' ? [] : showExtra(change)),
  ];
}

function showExtra({ action, extraBefore, extra }: Change): string[] {
  const isEmpty = (one: object) => Object.keys(one).length === 0;
  if (isEmpty(extra)) return [];
  const line = (sign: string, one: object) =>
    isEmpty(one) ? [] : [`      ${sign} extra ${JSON.stringify(one)}`];
  if (action === 'replace') return line('+', extra);
  if (isDeepStrictEqual(extra, extraBefore)) return line(' ', extra);
  return [...line('-', extraBefore), ...line('+', extra)];
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
