import type { CommandResult } from '../../../src/core/command.ts';
import type { SubscriptionRecord } from '../../../src/subscriptions/subscription-record.ts';
import type { StoredResult } from './ledger.ts';
import type { ControlSite } from './site.ts';

/** Drift is reported once when it begins, and once when it ends, and in the end what is reported is there. */
export function judgeDrift(
  { provider, system }: Pick<ControlSite, 'provider' | 'system'>,
  results: readonly StoredResult[],
  state: ReadonlyMap<string, SubscriptionRecord>,
): string[] {
  const faults: string[] = [];
  const last = new Map<string, CommandResult>();
  // What came twice is one report.
  const reports = new Map(
    results.filter(({ result }) => result.status === 'DRIFT').map(({ result }) => [result.commandId, result]),
  );
  for (const report of reports.values()) {
    const subject = report.ref === null ? `id ${report.subscriptionId}` : `ref ${report.ref}`;
    const before = last.get(subject);
    const wasOpen = before !== undefined && before.errorCode !== null;
    last.set(subject, report);
    if (report.errorCode === null && !wasOpen) faults.push(`drift of ${subject} ends, and had not begun`);
    const isSame = before?.message === report.message && before.subscriptionId === report.subscriptionId;
    if (report.errorCode !== null && wasOpen && isSame) faults.push(`drift of ${subject} is reported twice`);
  }
  // An empty list is taken for a wrong dialect while the state has active ones: then nothing is compared.
  if (system.reconcile === 'off' || provider.subscriptions.size === 0) return faults;
  const active = [...state.values()].filter((record) => record.state === 'ACTIVE');
  for (const [subject, { errorCode, subscriptionId }] of last) {
    if (errorCode === null) continue;
    const isThere = provider.subscriptions.has(subscriptionId ?? '');
    const isKnown = active.some((record) => record.subscriptionId === subscriptionId);
    const isReal = {
      SUBSCRIPTION_MISSING: !isThere && isKnown,
      SUBSCRIPTION_FOREIGN: isThere && !isKnown,
      SUBSCRIPTION_CHANGED: isThere && isKnown,
    }[errorCode];
    if (!isReal) faults.push(`drift of ${subject} is reported as ${errorCode}, and is over`);
  }
  return faults;
}
