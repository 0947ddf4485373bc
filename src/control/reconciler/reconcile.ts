import type { CommandResult } from '../../core/command.ts';
import { HooklineError } from '../../core/errors.ts';
import type { Lease } from '../../core/lease.ts';
import type { ListedItem, ProviderApi } from '../../provider/provider-api.ts';
import type { SubscriptionRecord } from '../../subscriptions/subscription-record.ts';
import {
  type Drift,
  findDrift,
  listedDrift,
  refuseEmptyList,
  withoutFilesOwn,
} from '../operations/find-drift.ts';
import type { OperationDeps } from '../operations/operation.ts';
import { isForgettable } from '../operations/subscription-state.ts';
import { forgetCommand, isRepairable, type OwnCommand, repairCommand } from './repair-commands.ts';
import {
  driftResolved,
  driftResult,
  type ReportedDrift,
  subjectOfDrift,
  subjectOfReport,
} from './reported-drift.ts';

export type ReconcileDeps = Pick<
  OperationDeps,
  'clock' | 'dialect' | 'publicUrl' | 'subscriptions' | 'records' | 'retired' | 'dirSecrets'
> & {
  /** Follows the results topic, where earlier reports stand. */
  readonly finished: { caughtUp(signal: AbortSignal): Promise<void> };
  /** How long a command's calls may take. */
  readonly commandDeadlineMs: number;
  readonly mode: 'off' | 'report' | 'repair';
  /** If one comparison would change more subscriptions than this, it changes none. */
  readonly repairMax: number;
  readonly api: Pick<ProviderApi, 'list'>;
  readonly reported: ReportedDrift;
  readonly newId: () => string;
  /** Writes a command to its topic. */
  readonly send: (topic: string, command: OwnCommand) => Promise<void>;
  /** Gets each command that could not be written; the others are sent all the same. */
  readonly onUnsent: (error: unknown, ref: string) => void;
  /** How long after news the two are compared once more: a command may have been under way. */
  readonly confirmAfterMs: number;
  readonly onDrift: (result: CommandResult) => void;
  /** Gets, at each comparison, how many subscriptions would be repaired if they were not too many; otherwise 0. */
  readonly onWithheld: (count: number) => void;
  /** Gets the drift that there is now. */
  readonly onCompared: (drifts: readonly Drift[]) => void;
};

/** What has been tried already, by subject, for as long as this process compares. */
export type Tries = Map<string, number>;

/**
 * Compares the provider with the state once, reports drift that is new or has ended, and sends the commands that repair
 * it where that is wanted.
 * @throws HooklineError PROVIDER_UNAVAILABLE, PROVIDER_ANSWER_INVALID where there is no list: nothing is known then
 */
export async function reconcile(deps: ReconcileDeps, tries: Tries, lease: Lease): Promise<void> {
  const { signal } = lease;
  await forgetRetired(deps, tries, lease);
  if (deps.mode === 'off') return;
  const found = await compare(deps, signal);
  await deps.finished.caughtUp(signal);
  const isNews = (drift: Drift) => {
    const before = deps.reported.of(subjectOfDrift(drift));
    // One that was created anew, and is lost again, is another subscription.
    return before?.message !== textOf(drift) || before.subscriptionId !== drift.subscriptionId;
  };
  const confirmed = found.drifts.some(isNews) ? await confirm(deps, found.drifts, signal) : found.drifts;
  deps.onCompared(confirmed);
  const store = async (result: CommandResult) => {
    await deps.records.storeResult(result, lease);
    deps.onDrift(result);
  };
  const report = () => {
    const at = deps.reported.nextAt(deps.clock.wall());
    return { id: deps.newId(), httpStatus: found.httpStatus, at };
  };
  for (const drift of confirmed.filter(isNews)) await store(driftResult(drift, report()));
  // What one of the two comparisons has seen may be there: it has not ended.
  const present = new Set([...found.drifts, ...confirmed].map(subjectOfDrift));
  const isOver = (before: Pick<CommandResult, 'ref' | 'subscriptionId'>) =>
    !present.has(subjectOfReport(before)) && !found.changed.has(before.ref ?? '');
  for (const before of deps.reported.open()) if (isOver(before)) await store(driftResolved(before, report()));
  // What was changed meanwhile, by its own repair perhaps, may differ all the same.
  for (const ref of found.changed) present.add(subjectOfReport({ ref, subscriptionId: null }));
  for (const subject of tries.keys())
    if (!subject.startsWith(RETIRED) && !present.has(subject)) tries.delete(subject);
  if (deps.mode === 'repair') await repair(deps, confirmed, tries, lease);
}

/** The text that a drift is reported by, which changes with it. */
const textOf = (drift: Drift) => listedDrift(drift).message;

type Comparison = {
  readonly drifts: readonly Drift[];
  readonly httpStatus: number | null;
  /** Refs that were changed meanwhile, of which nothing is known. */
  readonly changed: ReadonlySet<string>;
};

async function compare(deps: ReconcileDeps, signal: AbortSignal): Promise<Comparison> {
  const { subscriptions, dialect, publicUrl, commandDeadlineMs: deadlineMs } = deps;
  await subscriptions.caughtUp(signal);
  const before = new Set(subscriptions.all());
  const { items, httpStatus } = await listed(deps);
  await subscriptions.caughtUp(signal);
  const records = subscriptions.all();
  refuseEmptyList(
    items,
    records.filter((record) => before.has(record)),
  );
  // A record that came while the list was made says nothing about it, nor do the items of a ref that was changed.
  const changed = new Set(records.filter((record) => !before.has(record)).map(({ ref }) => ref));
  const ids = new Set(records.filter(({ ref }) => changed.has(ref)).map((one) => one.subscriptionId));
  const compared = { records, items, dialect, publicUrl, deadlineMs, now: deps.clock.wall() };
  const found = await withoutFilesOwn(findDrift(compared), deps);
  const drifts = found.filter(
    ({ record, subscriptionId }) => !ids.has(subscriptionId) && !(record && changed.has(record.ref)),
  );
  return { drifts, httpStatus, changed };
}

async function listed({
  api,
}: ReconcileDeps): Promise<{ items: readonly ListedItem[]; httpStatus: number | null }> {
  const { judgement, items, why, status } = await api.list();
  if (judgement !== 'done') throw new HooklineError('PROVIDER_UNAVAILABLE', why);
  if (!items) throw new HooklineError('PROVIDER_ANSWER_INVALID', 'the list of subscriptions');
  return { items, httpStatus: status };
}

/** What two comparisons agree on. */
async function confirm(deps: ReconcileDeps, first: readonly Drift[], signal: AbortSignal): Promise<Drift[]> {
  await deps.clock.sleep(deps.confirmAfterMs, { signal });
  const isSeen = new Set(first.map((drift) => `${subjectOfDrift(drift)} ${textOf(drift)}`));
  const { drifts } = await compare(deps, signal);
  return drifts.filter((drift) => isSeen.has(`${subjectOfDrift(drift)} ${textOf(drift)}`));
}

async function repair(
  deps: ReconcileDeps,
  drifts: readonly Drift[],
  tries: Tries,
  lease: Lease,
): Promise<void> {
  // Hundreds at once are more likely a wrong answer, a cut list or a wrong PUBLIC_URL than hundreds of losses. What was tried
  // in vain counts as well: a creation removes what the list does not show, also where it is refused then.
  const changed = drifts.filter(({ record }) => isRepairable(record)).length;
  const isWithheld = changed > deps.repairMax;
  deps.onWithheld(isWithheld ? changed : 0);
  if (isWithheld) return;
  for (const drift of drifts) {
    const command = repairCommand(drift, deps.newId, deps.dialect);
    if (drift.record && isDue(tries, subjectOfDrift(drift))) await send(deps, drift.record, command, lease);
  }
}

const RETIRED = 'retired ';

async function forgetRetired(deps: ReconcileDeps, tries: Tries, lease: Lease): Promise<void> {
  await deps.subscriptions.caughtUp(lease.signal);
  const forgettable = new Set<string>();
  for (const record of deps.subscriptions.all()) {
    if (!isForgettable(deps, record)) continue;
    const subject = `${RETIRED}${record.ref} ${record.updatedAt}`;
    forgettable.add(subject);
    if (isDue(tries, subject)) await send(deps, record, forgetCommand(record, deps.newId), lease);
  }
  for (const subject of tries.keys())
    if (subject.startsWith(RETIRED) && !forgettable.has(subject)) tries.delete(subject);
}

async function send(
  deps: ReconcileDeps,
  { owner, ref }: SubscriptionRecord,
  command: OwnCommand | null,
  lease: Lease,
): Promise<void> {
  lease.check();
  try {
    if (command) await deps.send(owner, command);
  } catch (error) {
    deps.onUnsent(error, ref);
  }
}

const LONGEST_PAUSE = 16;

/** At the 1st, 2nd, 4th, 8th, 16th, 32nd, 48th … comparison: what the provider undoes again is not repaired all the time. */
function isDue(tries: Tries, subject: string): boolean {
  const count = (tries.get(subject) ?? 0) + 1;
  tries.set(subject, count);
  return (count & (count - 1)) === 0 || count % LONGEST_PAUSE === 0;
}
