import { RECONCILER } from '../../core/command.ts';
import type { Dialect } from '../../provider/dialect.ts';
import { sendableAgain } from '../../provider/extra-fields.ts';
import {
  acceptedExtra,
  isUnfinished,
  type SubscriptionRecord,
} from '../../subscriptions/subscription-record.ts';
import type { Drift } from '../operations/find-drift.ts';

/** A command as control itself sends it. */
export type OwnCommand = {
  readonly commandId: string;
  readonly type: 'subscription.create' | 'subscription.update' | 'subscription.delete';
  readonly ref: string;
  readonly events?: readonly string[];
  readonly extra?: object;
  readonly issuedBy: string;
  readonly ifMatch: string;
};

/** Not what is foreign, and not where an adoption came to no end: nobody was told that the subscription is ours. */
export const isRepairable = (
  record: SubscriptionRecord | null,
): record is SubscriptionRecord & { commandId: string } =>
  record !== null && Boolean(record.commandId) && !isUnfinished(record);

/**
 * The command that brings the provider to what the state says. It goes through the command topic, behind the commands
 * that are there already. Its ifMatch is the state at which the drift was seen: what a team has asked for since is not
 * undone. A foreign subscription has none, nor has one whose adoption did not come to an end.
 */
export function repairCommand(
  { kind, record }: Drift,
  newId: () => string,
  dialect: Dialect,
): OwnCommand | null {
  if (!isRepairable(record)) return null;
  const { ref, events } = record;
  const common = { ref, issuedBy: RECONCILER };
  // An older rule may have accepted more: what would be REJECTED now is left out, so that the rest is repaired.
  const extra = record.extra ? { extra: sendableAgain(dialect, acceptedExtra(record)) } : {};
  const ifMatch = record.commandId;
  // An update without events sends again what should be there.
  if (kind !== 'missing')
    return { commandId: newId(), type: 'subscription.update', ...common, ...extra, ifMatch };
  const creation = { commandId: newId(), type: 'subscription.create', ...common, ...extra, ifMatch } as const;
  return { ...creation, ...(events.length > 0 && { events }) };
}

/** The command that forgets a subscription which was deleted, once its keys are no longer live. */
export function forgetCommand(
  { ref, commandId }: SubscriptionRecord,
  newId: () => string,
): OwnCommand | null {
  if (commandId === null) return null;
  return { commandId: newId(), type: 'subscription.delete', ref, issuedBy: RECONCILER, ifMatch: commandId };
}
