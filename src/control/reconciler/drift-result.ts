import type { CommandResult } from '../../core/command.ts';
import { type Drift, listedDrift } from '../operations/find-drift.ts';

/** Who a drift is told by, and who sends the commands that repair it. */
export const RECONCILER = 'hookline-reconciler';

type Told = { readonly id: string; readonly httpStatus: number | null };

/** A drift as a record among the results. */
export function driftResult(drift: Drift, told: Told): CommandResult {
  return result(listedDrift(drift), told);
}

/** The end of a drift that was told before. */
export function driftEnded(
  { ref, subscriptionId }: Pick<CommandResult, 'ref' | 'subscriptionId'>,
  told: Told,
): CommandResult {
  return result({ ref, subscriptionId, errorCode: null, message: 'the drift has ended' }, told);
}

/** Of no command: there is no place where one stands. */
function result(
  about: Pick<CommandResult, 'ref' | 'subscriptionId' | 'errorCode' | 'message'>,
  { id, httpStatus }: Told,
): CommandResult {
  const now = Date.now();
  return {
    ...about,
    commandId: id,
    type: 'reconcile',
    status: 'DRIFT',
    httpStatus,
    attempts: 1,
    subscriptions: null,
    drift: null,
    issuedBy: RECONCILER,
    dryRun: false,
    receivedAt: now,
    finishedAt: now,
    commandTopic: '',
    commandPartition: -1,
    commandOffset: -1,
  };
}
