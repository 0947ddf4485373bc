import { endsCommand, HooklineError } from '../../core/errors.ts';
import type { OperationContext, Settled } from './operation.ts';
import { noteBegin } from './subscription-state.ts';

/** Characters of an id that a message shows: its sender may have written any. */
const MAX_ID = 100;

/** How the command ends, with how far it came: what is before that was replayed, and need not be asked for again. */
function at(reached: string, error: unknown): unknown {
  if (!endsCommand(error)) return error;
  const detail = error.detail === undefined ? reached : `${error.detail}; ${reached}`;
  return new HooklineError(error.code, detail, { cause: error });
}

/** Has the provider replay webhook runs. Asking twice is harmless: the events carry the same ids. */
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
    const reached = `run ${executionId.slice(0, MAX_ID)}, after ${n} of ${executionIds.length} in their order`;
    const outcome = await session
      .untilDone(() => session.api.replay(values, command.extra))
      .catch((error) => {
        throw at(reached, error);
      });
    if (outcome.judgement === 'gone') throw new HooklineError('SUBSCRIPTION_NOT_FOUND', reached);
  }
  return { message: `${executionIds.length} run(s) replayed`, subscriptionId };
}
