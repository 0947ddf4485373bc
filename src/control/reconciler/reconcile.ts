import { setTimeout as sleep } from 'node:timers/promises';
import type { CommandResult } from '../../core/command.ts';
import { HooklineError } from '../../core/errors.ts';
import { leaseOf } from '../../core/lease.ts';
import type { ListedItem, ProviderApi } from '../../provider/provider-api.ts';
import type { SubscriptionRecord } from '../../subscriptions/subscription-record.ts';
import { type Drift, findDrift, listedDrift, refuseEmptyList } from '../operations/find-drift.ts';
import type { OperationDeps } from '../operations/operation.ts';
import { isForgettable } from '../operations/subscription-state.ts';
import { forgetCommand, type OwnCommand, repairCommands } from './repair-commands.ts';
import {
  driftResolved,
  driftResult,
  type ReportedDrift,
  subjectOf,
  subjectOfDrift,
} from './reported-drift.ts';

export type ReconcileParts = Pick<
  OperationDeps,
  'dialect' | 'publicUrl' | 'subscriptions' | 'records' | 'retiredKeysTtlMs'
> & {
  /** Follows the results topic, where earlier reports stand. */
  readonly finished: { caughtUp(signal: AbortSignal): Promise<void> };
  readonly mode: 'off' | 'report' | 'repair';
  /** Where one look would change more subscriptions than this, it changes none. */
  readonly repairMax: number;
  readonly api: Pick<ProviderApi, 'list'>;
  readonly reported: ReportedDrift;
  readonly newId: () => string;
  /** Writes a command to its topic. */
  readonly send: (topic: string, command: OwnCommand) => Promise<void>;
  /** Told of a command that could not be written; the others are sent all the same. */
  readonly onUnsent: (error: unknown, ref: string) => void;
  /** How long after news the two are compared once more: a command may be under way just then. */
  readonly confirmAfterMs: number;
  readonly onDrift: (result: CommandResult) => void;
  /** Told at each look how many subscriptions would be repaired if they were not too many; 0 where they are not. */
  readonly onWithheld: (count: number) => void;
  /** What there is of drift now. */
  readonly onLook: (drifts: readonly Drift[]) => void;
};

/** What has been tried already, by subject, for as long as this process compares. */
export type Tries = Map<string, number>;

/**
 * Compares the payment service with the state once, tells what is new of drift and what has ended, and sends the
 * commands that repair it where that is wanted.
 * @throws HooklineError PROVIDER_UNAVAILABLE, PROVIDER_ANSWER_INVALID where the list can't be had: nothing is known then
 */
export async function reconcile(parts: ReconcileParts, tries: Tries, signal: AbortSignal): Promise<void> {
  await forgetRetired(parts, tries, signal);
  if (parts.mode === 'off') return;
  const found = await look(parts, signal);
  await parts.finished.caughtUp(signal);
  const isNews = (drift: Drift) => parts.reported.of(subjectOfDrift(drift))?.message !== textOf(drift);
  const confirmed = found.drifts.some(isNews) ? await confirm(parts, found.drifts, signal) : found.drifts;
  parts.onLook(confirmed);
  const store = async (result: CommandResult) => {
    await parts.records.storeResult(result, leaseOf(signal));
    parts.onDrift(result);
  };
  const report = () => ({ id: parts.newId(), httpStatus: found.httpStatus });
  for (const drift of confirmed.filter(isNews)) await store(driftResult(drift, report()));
  // What one of the two looks has seen may be there: it has not ended.
  const present = new Set([...found.drifts, ...confirmed].map(subjectOfDrift));
  for (const before of parts.reported.open())
    if (!present.has(subjectOf(before))) await store(driftResolved(before, report()));
  if (parts.mode === 'repair') await repair(parts, confirmed, tries);
}

/** The text that a drift is told by, which changes with it. */
const textOf = (drift: Drift) => listedDrift(drift).message;

async function look(
  parts: ReconcileParts,
  signal: AbortSignal,
): Promise<{ drifts: Drift[]; httpStatus: number | null }> {
  const { subscriptions, dialect, publicUrl } = parts;
  await subscriptions.caughtUp(signal);
  const before = new Set(subscriptions.all());
  const { items, httpStatus } = await listed(parts);
  await subscriptions.caughtUp(signal);
  const records = subscriptions.all();
  refuseEmptyList(
    items,
    records.filter((record) => before.has(record)),
  );
  // A record that came while the list was made says nothing about it, nor do the items of a ref that was changed.
  const changed = new Set(records.filter((record) => !before.has(record)).map(({ ref }) => ref));
  const ids = new Set(records.filter(({ ref }) => changed.has(ref)).map((one) => one.subscriptionId));
  const drifts = findDrift({ records, items, dialect, publicUrl }).filter(
    ({ record, subscriptionId }) => !ids.has(subscriptionId) && !(record && changed.has(record.ref)),
  );
  return { drifts, httpStatus };
}

async function listed({
  api,
}: ReconcileParts): Promise<{ items: readonly ListedItem[]; httpStatus: number | null }> {
  const { judgement, items, why, status } = await api.list();
  if (judgement !== 'done') throw new HooklineError('PROVIDER_UNAVAILABLE', why);
  if (!items) throw new HooklineError('PROVIDER_ANSWER_INVALID', 'the list of subscriptions');
  return { items, httpStatus: status };
}

/** What two looks agree on. */
async function confirm(
  parts: ReconcileParts,
  first: readonly Drift[],
  signal: AbortSignal,
): Promise<Drift[]> {
  await sleep(parts.confirmAfterMs, undefined, { signal });
  const isSeen = new Set(first.map((drift) => `${subjectOfDrift(drift)} ${textOf(drift)}`));
  const { drifts } = await look(parts, signal);
  return drifts.filter((drift) => isSeen.has(`${subjectOfDrift(drift)} ${textOf(drift)}`));
}

async function repair(parts: ReconcileParts, drifts: readonly Drift[], tries: Tries): Promise<void> {
  const present = new Set(drifts.map(subjectOfDrift));
  for (const subject of tries.keys())
    if (!subject.startsWith(RETIRED) && !present.has(subject)) tries.delete(subject);
  // Hundreds at once are more likely a wrong answer, a cut list or a wrong PUBLIC_URL than hundreds of losses.
  const changed = drifts.filter(({ record }) => record?.commandId).length;
  const isWithheld = changed > parts.repairMax;
  parts.onWithheld(isWithheld ? changed : 0);
  if (isWithheld) return;
  for (const drift of drifts) {
    const commands = repairCommands(drift, parts.newId, parts.dialect);
    if (drift.record && isDue(tries, subjectOfDrift(drift))) await sendAll(parts, drift.record, commands);
  }
}

const RETIRED = 'retired ';

async function forgetRetired(parts: ReconcileParts, tries: Tries, signal: AbortSignal): Promise<void> {
  await parts.subscriptions.caughtUp(signal);
  for (const record of parts.subscriptions.all()) {
    const subject = `${RETIRED}${record.ref} ${record.updatedAt}`;
    if (isForgettable(parts, record) && isDue(tries, subject))
      await sendAll(parts, record, forgetCommand(record, parts.newId));
  }
}

/** The second of two commands rests on the first: where that is not sent, neither is the other. */
async function sendAll(parts: ReconcileParts, { owner, ref }: SubscriptionRecord, commands: OwnCommand[]) {
  try {
    for (const command of commands) await parts.send(owner, command);
  } catch (error) {
    parts.onUnsent(error, ref);
  }
}

/** At the 1st, 2nd, 4th, 8th … look: what the service undoes again is not repaired without end. */
function isDue(tries: Tries, subject: string): boolean {
  const looks = (tries.get(subject) ?? 0) + 1;
  tries.set(subject, looks);
  return (looks & (looks - 1)) === 0;
}
