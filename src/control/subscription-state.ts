import { openSecrets, type RetiredSecrets, type SubscriptionSecrets } from '../subscriptions/sealed-keys.ts';
import type { SubscriptionRecord } from '../subscriptions/subscription-record.ts';
import type { ControlParts, OperationContext } from './control-parts.ts';
import { receiverUrl } from './receiver.ts';

type State = Pick<SubscriptionRecord, 'state' | 'subscriptionId' | 'events' | 'sealedKeys'>;

/** Stores what is now known of the command's ref. */
export async function storeState(context: OperationContext, state: State): Promise<void> {
  const { command, topic, records, signal } = context;
  const record: SubscriptionRecord = {
    ...state,
    ref: command.ref,
    receiverUrl: receiverUrl(context, command.ref),
    owner: topic,
    commandId: command.commandId,
    updatedAt: Date.now(),
  };
  await records.storeSubscription(command.ref, record, signal);
}

/** The secrets of a record, or undefined where it has none, or none that SEALING_KEY_FILE opens. */
export function secretsOf(
  { sealingKeys }: Pick<ControlParts, 'sealingKeys'>,
  record: SubscriptionRecord,
): SubscriptionSecrets | undefined {
  return (record.sealedKeys && openSecrets(sealingKeys, record.ref, record.sealedKeys)) ?? undefined;
}

/** Keys of the ref's deleted subscriptions whose deliveries may still be under way: a new one must not shut them out. */
export function carriedSecrets(
  context: Pick<ControlParts, 'sealingKeys' | 'retiredKeysTtlMs'>,
  before: SubscriptionRecord | undefined,
): Pick<SubscriptionSecrets, 'previous'> {
  const secrets = before && secretsOf(context, before);
  if (!before || !secrets) return {};
  const { signingSecret, encryptionKey } = secrets;
  const retired: RetiredSecrets[] =
    before.state === 'RETIRED' && before.subscriptionId !== null && signingSecret !== undefined
      ? [
          {
            subscriptionId: before.subscriptionId,
            signingSecret,
            retiredAt: before.updatedAt,
            ...(encryptionKey !== undefined && { encryptionKey }),
          },
        ]
      : [];
  const since = Date.now() - context.retiredKeysTtlMs;
  const previous = [...retired, ...(secrets.previous ?? [])].filter((keys) => keys.retiredAt > since);
  return previous.length > 0 ? { previous } : {};
}
