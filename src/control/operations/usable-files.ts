import { endsCommand, HooklineError } from '../../core/errors.ts';
import type { DirSecrets } from '../../subscriptions/secrets-dir.ts';
import type { SubscriptionRecord } from '../../subscriptions/subscription-record.ts';
import { clearAddress, listCredibly } from './clear-address.ts';
import type { OperationContext } from './operation.ts';
import { hasBegun, withdraw } from './subscription-state.ts';
import { mayStillCome } from './unfinished-adoption.ts';

/**
 * The files of a ref that is to be created, before any change: with files that cannot be used nothing must be begun.
 * @param intent what an earlier try has stored. What this very command may have created before a crash is removed, unless the files
 *   name it: then it stays, and so does the intent.
 * @throws HooklineError KEYS_INVALID where nothing was changed, or nothing is left; PROVIDER_UNAVAILABLE where something may be
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
    if (!endsCommand(error)) throw error;
    if (intent && !command.dryRun) await endIntent(context, intent, error);
    throw error;
  }
}

const OF_ANOTHER =
  'webhooks of a new subscription would be refused; remove this file and signing-secret, or adopt the subscription that they belong to';

async function endIntent(
  context: OperationContext,
  intent: SubscriptionRecord,
  failure: HooklineError,
): Promise<void> {
  // A rejected command has changed nothing: what another one has left is no matter of this one.
  if (!hasBegun(context)) return;
  const named = intent.commandId === context.command.commandId ? await idsInFiles(context) : null;
  const isNamed = (id: string) => named?.includes(id.toLowerCase()) ?? true;
  const left = await context.session
    .aside(async () => {
      // Webhooks of what the files name are verified by them now, and it is about to be adopted.
      if (named === null || (named.length > 0 && (await listCredibly(context)).some(({ id }) => isNamed(id))))
        return 'named' as const;
      await clearAddress(context, true, { stays: isNamed });
      return 'nothing' as const;
    })
    .catch(refusedOrTimedOut);
  if (left === 'named') throw new HooklineError('PROVIDER_UNAVAILABLE', `${STAYS}: ${failure.message}`);
  // The process of the earlier try has ended; the provider may still carry out its call.
  if (left === 'unknown' || mayStillCome(context, intent))
    throw new HooklineError('PROVIDER_UNAVAILABLE', `${MAY_BE_LEFT}: ${failure.message}`);
  await withdraw(context, intent, true);
}

/** The ids that the ref's files name, in lower case; null where they cannot be read: then any may be one of them. */
const idsInFiles = async ({ command, dirSecrets }: OperationContext): Promise<readonly string[] | null> =>
  dirSecrets(command.ref, ['subscriptionIds']).then(
    ({ subscriptionIds }) => subscriptionIds.map((id) => id.toLowerCase()),
    () => null,
  );

const STAYS =
  "an earlier try may have created or deleted a subscription; nothing more was deleted, as the ref's files may name it: adopt it, or correct the files";

const MAY_BE_LEFT =
  "an earlier try may have created a subscription, or may do so yet: send a command for the ref again in a few minutes, which deletes it. The ref's creation was ended by";

function refusedOrTimedOut(error: unknown): 'unknown' {
  if (endsCommand(error)) return 'unknown';
  throw error;
}
