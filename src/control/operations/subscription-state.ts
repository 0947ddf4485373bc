import { eventNameOf, providerNameOf } from '../../provider/dialect.ts';
import {
  openSecrets,
  type RetiredSecrets,
  replacedBy,
  type SubscriptionRecord,
  type SubscriptionSecrets,
  sealSecrets,
} from '../../subscriptions/subscription-record.ts';
import type { OperationContext, OperationDeps } from './operation.ts';

type State = Pick<SubscriptionRecord, 'state' | 'subscriptionId' | 'events' | 'sealedKeys' | 'replaced'>;

/** Stores what is now known of the command's ref. */
export async function storeState(context: OperationContext, state: State): Promise<void> {
  const { command, topic, records, lease } = context;
  const record: SubscriptionRecord = {
    replaced: null,
    ...state,
    ref: command.ref,
    receiverUrl: receiverUrl(context, command.ref),
    owner: topic,
    commandId: command.commandId,
    extra: extraOf(context),
    updatedAt: context.clock.wall(),
  };
  await records.storeSubscription(command.ref, record, lease);
}

/** The `extra` that the provider got for this subscription; nothing of another subscription's is kept. */
function extraOf({ command, subscriptions }: OperationContext): string | null {
  if (Object.keys(command.extra).length > 0) return JSON.stringify(command.extra);
  const before = subscriptions.get(command.ref);
  const isSame =
    command.type === 'subscription.adopt'
      ? before?.state === 'ACTIVE'
      : command.type !== 'subscription.create';
  return (isSame ? before?.extra : null) ?? null;
}

/** A subscription that was deleted so long ago that its keys are no longer live: nothing of it is needed. */
export function isForgettable(
  { retiredKeysTtlMs, clock }: Pick<OperationDeps, 'retiredKeysTtlMs' | 'clock'>,
  record: SubscriptionRecord,
): boolean {
  return record.state === 'RETIRED' && record.updatedAt + retiredKeysTtlMs < clock.wall();
}

/** Whether this very command was begun before a crash: the state then carries its id. */
export function hasBegun({ command, subscriptions }: OperationContext): boolean {
  const { commandId, begunBy } = subscriptions.get(command.ref) ?? {};
  return commandId === command.commandId || begunBy === command.commandId;
}

/**
 * Notes before the call that a command has begun: it may have expired when it is resumed after a crash. It has not changed
 * the ref yet, and a replay never does: what others match by stays (`ifMatch`).
 */
export async function noteBegin(context: OperationContext, record: SubscriptionRecord): Promise<void> {
  const { command, records, lease } = context;
  if (command.expiresAt === null || hasBegun(context)) return;
  await records.storeSubscription(command.ref, { ...record, begunBy: command.commandId }, lease);
}

/** The secrets of a record, or undefined where it has none, or none that SEALING_KEY_FILE opens. */
export function secretsOf(
  { sealingKeys }: Pick<OperationDeps, 'sealingKeys'>,
  record: SubscriptionRecord,
): SubscriptionSecrets | undefined {
  return (record.sealedKeys && openSecrets(sealingKeys, record, record.sealedKeys)) ?? undefined;
}

/**
 * The sealed keys of a record for what it becomes: they are tied to the state and the id, so a change of these seals
 * them again. What no sealing key opens stays as it is: under the same state and id a key that comes back opens it.
 */
export function resealed(
  { sealingKeys }: Pick<OperationDeps, 'sealingKeys'>,
  before: SubscriptionRecord,
  becomes: Pick<SubscriptionRecord, 'state' | 'subscriptionId'>,
): Buffer | null {
  const secrets = secretsOf({ sealingKeys }, before);
  if (!secrets) return before.sealedKeys;
  return sealSecrets(sealingKeys, { ...becomes, ref: before.ref }, secrets);
}

/** Keys of the ref's deleted subscriptions whose deliveries may still be under way: a new one must not shut them out. */
export function carriedSecrets(
  context: Pick<OperationDeps, 'sealingKeys' | 'retiredKeysTtlMs' | 'clock'>,
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
  const since = context.clock.wall() - context.retiredKeysTtlMs;
  const previous = [...retired, ...(secrets.previous ?? [])].filter((keys) => keys.retiredAt > since);
  return previous.length > 0 ? { previous } : {};
}

/** What the ref goes back to if a creation comes to nothing: what was there before the first intent. */
export function beforeIntent(before: SubscriptionRecord | undefined): SubscriptionRecord | null {
  if (before?.state === 'REQUESTED') return replacedBy(before);
  return before ?? null;
}

/** Where the provider delivers to: derived, never taken from a command, and one per ref. */
export function receiverUrl({ publicUrl }: Pick<OperationDeps, 'publicUrl'>, ref: string): string {
  return `${publicUrl}/webhooks/${ref}`;
}

/** The command's events under our names, without repetitions; null where it names none. */
export function eventsOf({
  command,
  dialect,
}: Pick<OperationContext, 'command' | 'dialect'>): string[] | null {
  if (command.events === null) return null;
  return [...new Set(command.events.map((event) => eventNameOf(dialect, event) ?? event))];
}

/** The same events as the provider spells them. */
export function providerEvents(
  { dialect }: Pick<OperationDeps, 'dialect'>,
  events: readonly string[] | null,
): string[] | undefined {
  return events?.map((event) => providerNameOf(dialect, event));
}
