import { HooklineError } from '../../core/errors.ts';
import type { OperationContext, Settled } from '../control-parts.ts';
import { noteBegin } from '../subscription-state.ts';

/** Has the payment service send webhook runs again. Asking twice is harmless: the events carry the same ids. */
export async function replayWebhooks(context: OperationContext): Promise<Settled> {
  const { command, session, subscriptions } = context;
  const record = subscriptions.get(command.ref);
  if (record?.state !== 'ACTIVE') throw new HooklineError('UNKNOWN_REF');
  const { subscriptionId } = record;
  const executionIds = [...new Set(command.executionIds ?? [])];
  if (command.dryRun)
    return { message: `dry run: would replay ${executionIds.length} run(s)`, subscriptionId };
  await noteBegin(context, record);
  for (const [n, executionId] of executionIds.entries()) {
    const values = { ref: command.ref, executionId, subscriptionId: subscriptionId ?? undefined };
    const outcome = await session.untilDone(() => session.api.replay(values, command.extra));
    if (outcome.judgement === 'gone') {
      throw new HooklineError(
        'SUBSCRIPTION_NOT_FOUND',
        `run ${executionId}, after ${n} of ${executionIds.length}`,
      );
    }
  }
  return { message: `${executionIds.length} run(s) replayed`, subscriptionId };
}
