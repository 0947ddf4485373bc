import { START } from '../engine/simulation.ts';
import { BY_HAND, type Effect } from '../provider/model-provider.ts';
import { type EndedCommand, nameOf, type StoredResult } from './ledger.ts';
import type { ControlSite } from './site.ts';

/** A tenth of the deadline is reserved for the end of a command; its times are whole milliseconds. */
const EARLIEST_TIME_OUT = 0.89;

/**
 * Each result is of its command, and says what happened.
 * @param hasTrueTimes false where the clocks of processes jump: their times say nothing then
 */
export function judgeResults(
  { provider, system }: Pick<ControlSite, 'provider' | 'system'>,
  ended: readonly EndedCommand[],
  hasTrueTimes: boolean,
): string[] {
  return ended.flatMap((command) => {
    const { fields, result } = command;
    const { type, executionIds = [] } = fields;
    const isDone = result.status === 'SUCCEEDED';
    const faults = [...identityFaults(command), ...validityFaults(command)];
    const hasReplayed = (id: string) => provider.effects.some(({ what }) => what === `replays ${id}`);
    if (type === 'webhook.replay' && isDone)
      for (const id of executionIds)
        if (!hasReplayed(id)) faults.push(`has succeeded, and ${id} was not replayed`);
    const tookMs = Number(result.finishedAt) - Number(result.receivedAt);
    const isEarly = tookMs < system.deadlineMs * EARLIEST_TIME_OUT;
    if (hasTrueTimes && result.errorCode === 'COMMAND_TIMED_OUT' && isEarly)
      faults.push(`has timed out after ${tookMs} ms`);
    if (hasTrueTimes && type === 'subscription.list' && isDone)
      faults.push(...listFaults(command, provider.effects));
    return faults.map((fault) => `${nameOf(command)} ${fault}`);
  });
}

/** A result has the id of its command, or of its report, as its key (docs/commands.md). */
export const judgeKeys = (results: readonly StoredResult[]): string[] =>
  results
    .filter(({ key, result }) => key !== result.commandId)
    .map(({ key, result }) => `the result of ${result.commandId} has the key ${key}`);

function identityFaults({ fields, result }: EndedCommand): string[] {
  const { commandId, type, ref = null, dryRun = false } = fields;
  const is = { commandId: result.commandId, type: result.type, ref: result.ref, dryRun: result.dryRun };
  const isOwn =
    is.commandId === commandId && is.type === type && is.ref === ref && Boolean(is.dryRun) === dryRun;
  return isOwn ? [] : [`has the result of another: ${JSON.stringify(is)}`];
}

/** Of the commands here only those of a type that there is not are invalid. */
function validityFaults({ fields, result }: EndedCommand): string[] {
  if (result.status === 'DUPLICATE') return [];
  const isInvalid = result.status === 'REJECTED' && result.errorCode === 'COMMAND_INVALID';
  return isInvalid === isUnknown(fields.type) ? [] : [`ends with ${result.status} ${result.errorCode}`];
}

export const isUnknown = (type: string): boolean => type === 'subscription.rename';

/** Around the times of a result, which are whole milliseconds. */
const ROUNDING_MS = 2;

/** What is listed are the subscriptions that the provider had at some time meanwhile. */
function listFaults({ result }: EndedCommand, effects: readonly Effect[]): string[] {
  const listed = result.subscriptions ?? [];
  const ids = listed.map(({ subscriptionId }) => subscriptionId);
  const [from, to] = [result.receivedAt, result.finishedAt].map((at) => Number(at) - START) as [
    number,
    number,
  ];
  const faults = listed
    .filter(({ ref, url }) => ref !== null && !url?.endsWith(`/${ref}`))
    .filter(({ subscriptionId }) => !wasMoved(effects, subscriptionId))
    .map(({ subscriptionId, ref, url }) => `lists ${subscriptionId} as ${ref}, and it has ${url}`);
  const had = setsBetween(effects, from - ROUNDING_MS, to + ROUNDING_MS);
  return had.has(nameOfSet(ids)) ? faults : [...faults, `lists what the provider never had: ${ids}`];
}

const wasMoved = (effects: readonly Effect[], id: string) =>
  effects.some(({ by, subscription }) => by === BY_HAND && subscription?.id === id);

const nameOfSet = (ids: Iterable<string>) => [...ids].sort().join();

/** The sets of subscriptions that the provider had in this time. */
function setsBetween(effects: readonly Effect[], from: number, to: number): Set<string> {
  const has = new Set<string>();
  const sets = new Set<string>();
  for (const { at, what, subscription } of effects) {
    if (at > to) break;
    if (at >= from) sets.add(nameOfSet(has));
    if (what === 'creates') has.add(subscription?.id ?? '');
    if (what === 'deletes') has.delete(subscription?.id ?? '');
  }
  return sets.add(nameOfSet(has));
}
