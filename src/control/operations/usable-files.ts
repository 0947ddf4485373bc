import { HooklineError } from '../../core/errors.ts';
import type { DirSecrets } from '../../subscriptions/secrets-dir.ts';
import type { SubscriptionRecord } from '../../subscriptions/subscription-record.ts';
import { clearAddress } from './clear-address.ts';
import type { OperationContext } from './operation.ts';
import { noteBegin, withdraw } from './subscription-state.ts';
import { mayStillCome } from './unfinished-adoption.ts';

/**
 * The files of a ref that is to be created, before any change: with files that cannot be used nothing must be begun.
 * @param intent what an earlier try, before a crash perhaps, has stored. What that try may have created is removed first.
 * @throws HooklineError KEYS_INVALID where nothing is left; PROVIDER_UNAVAILABLE where something may be
 */
export async function usableFiles(
  context: OperationContext,
  intent: SubscriptionRecord | null,
): Promise<DirSecrets> {
  const { command, dirSecrets } = context;
  try {
    const dir = await dirSecrets(command.ref);
    // Keys in files come first: those of another subscription shut out the new one.
    if (dir.subscriptionIds.length > 0 && dir.signingSecrets.length > 0)
      throw new HooklineError('KEYS_INVALID', `${command.ref}/subscription-id: ${OF_ANOTHER}`);
    return dir;
  } catch (error) {
    if (!(error instanceof HooklineError && error.result)) throw error;
    if (intent && !command.dryRun) await endIntent(context, intent, error);
    throw error;
  }
}

const OF_ANOTHER =
  'webhooks of a new subscription would be refused; remove this file and signing-secret, or adopt the one that they are of';

async function endIntent(
  context: OperationContext,
  intent: SubscriptionRecord,
  failure: HooklineError,
): Promise<void> {
  await noteBegin(context, intent);
  const isClear = await context.session
    .aside(() => clearAddress(context, true))
    .then(() => true, refusedOrTimedOut);
  // The process of the earlier try has ended; the provider may still carry out its call. A rejected command has changed nothing.
  if (!isClear || mayStillCome(context, intent))
    throw new HooklineError('PROVIDER_UNAVAILABLE', `${MAY_BE_LEFT}: ${failure.message}`);
  await withdraw(context, intent, true);
}

const MAY_BE_LEFT =
  "an earlier try may have created a subscription, or may do so yet: send a command for the ref again in a few minutes, which deletes it. The ref's creation was ended by";

function refusedOrTimedOut(error: unknown): false {
  if (error instanceof HooklineError && error.result) return false;
  throw error;
}
