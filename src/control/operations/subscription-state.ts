import { hasCode } from '../../core/errors.ts';
import { CHANGE_TIMEOUT_MS } from '../../provider/call-provider.ts';
import { eventNameOf, providerNameOf } from '../../provider/dialect.ts';
import {
  isUnfinished,
  replacedBy,
  replacedText,
  type SubscriptionRecord,
  sealSecrets,
  wantedBy,
} from '../../subscriptions/subscription-record.ts';
import type { OperationContext, OperationDeps } from './operation.ts';
import { type CarryDeps, carriedSecrets, resealed, withTold } from './sealed-keys.ts';

type State = Pick<
  SubscriptionRecord,
  'state' | 'subscriptionId' | 'events' | 'sealedKeys' | 'replaced' | 'begunBy'
>;

/** Stores what is now known of the command's ref, and returns it: what was read of the state may be behind. */
export async function storeState(context: OperationContext, state: State): Promise<SubscriptionRecord> {
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
  return record;
}

/**
 * The command has come to nothing: the ref is as it was before. What cannot be stored in time stays, as if the command may
 * have had an effect.
 * @param mayHaveRemoved whether the command may have removed at the provider what an earlier one has left
 */
export async function withdraw(
  context: OperationContext,
  record: SubscriptionRecord,
  mayHaveRemoved = false,
): Promise<void> {
  const { command, records, lease } = context;
  const before = beforeCommand(context, record);
  // It was begun, and may have had an effect that the state does not show.
  const hasEffect = mayHaveRemoved || before?.state === 'ACTIVE' || before?.state === 'REQUESTED';
  const begun = hasEffect && command.expiresAt !== null && { begunBy: command.commandId };
  const withdrawn = records.storeSubscription(command.ref, before && { ...before, ...begun }, lease);
  await withdrawn.catch((error) => {
    if (!hasCode(error, 'COMMAND_TIMED_OUT')) throw error;
  });
}

/** The `extra` that the provider got for this subscription; nothing of another subscription's is kept. */
function extraOf(context: OperationContext): string | null {
  const { command, subscriptions } = context;
  if (Object.keys(command.extra).length > 0) return JSON.stringify(command.extra);
  const current = subscriptions.get(command.ref);
  // Whether the provider got that of an unfinished one is not known.
  const before = current && isUnfinished(current) ? beforeCommand(context, current) : current;
  const isSame =
    command.type === 'subscription.adopt'
      ? before?.state === 'ACTIVE'
      : command.type !== 'subscription.create';
  return (isSame ? before?.extra : null) ?? null;
}

/** A subscription that was deleted so long ago that its keys are no longer live: its ref is free. */
export const isReleased = (
  { retired, clock }: Pick<OperationDeps, 'retired' | 'clock'>,
  record: SubscriptionRecord,
): boolean => wasDeletedBefore(record, clock.wall() - retired.liveMs);

/** One that was deleted so long ago that nothing is left which its keys would open: nothing of it is needed. */
export const isForgettable = (
  { retired, clock }: Pick<OperationDeps, 'retired' | 'clock'>,
  record: SubscriptionRecord,
): boolean => wasDeletedBefore(record, clock.wall() - retired.keptMs);

const wasDeletedBefore = ({ state, updatedAt }: SubscriptionRecord, time: number): boolean =>
  state === 'RETIRED' && updatedAt < time;

/**
 * Whether a call that began when this record was stored may still take effect. Calls end by the command's deadline; we assume that
 * none takes effect more than CHANGE_TIMEOUT_MS later.
 */
export const mayTakeEffect = (
  { updatedAt }: Pick<SubscriptionRecord, 'updatedAt'>,
  now: number,
  deadlineMs: number,
): boolean => updatedAt > now - deadlineMs - CHANGE_TIMEOUT_MS;

/** The records of other refs that have this subscription. */
export function othersWith({ command, subscriptions }: OperationContext, id: string): SubscriptionRecord[] {
  return subscriptions.all().filter((one) => one.ref !== command.ref && wantedBy(one)?.subscriptionId === id);
}

/** Whether it is another ref's: not to be taken, nor to be removed. An unfinished adoption counts, as it may deliver there. */
export const isOfAnotherRef = (context: OperationContext, id: string): boolean =>
  othersWith(context, id).length > 0;

/** Whether this very command was begun before a crash: the state then carries its id. */
export function hasBegun({ command, subscriptions }: OperationContext): boolean {
  const { commandId, begunBy } = subscriptions.get(command.ref) ?? {};
  return commandId === command.commandId || begunBy === command.commandId;
}

/** Whether this very command was carried out before a crash: see `begunBy`. */
export function isCarriedOut({ command, subscriptions }: OperationContext): boolean {
  const { commandId, begunBy } = subscriptions.get(command.ref) ?? {};
  return commandId === command.commandId && begunBy === command.commandId;
}

/**
 * Notes before the call that a command has begun: it may have expired when it is resumed after a crash, or removed what a creation
 * has left. It has not changed the ref yet, and a replay never does: what others match by stays (`ifMatch`).
 */
export async function noteBegin(context: OperationContext, record: SubscriptionRecord): Promise<void> {
  const { command, records, lease } = context;
  const isNeeded = command.expiresAt !== null || record.state === 'REQUESTED';
  if (!isNeeded || hasBegun(context)) return;
  await records.storeSubscription(command.ref, { ...record, begunBy: command.commandId }, lease);
}

/** Notes before the call the encryption key that it tells: the provider may use it from then on, whatever the call's end. */
export async function noteTold(
  context: OperationContext,
  record: SubscriptionRecord,
  told: string | undefined,
): Promise<SubscriptionRecord> {
  const { command, records, lease } = context;
  const sealedKeys = withTold(context, record, told);
  if (sealedKeys === record.sealedKeys) return record;
  const noted = { ...record, sealedKeys };
  await records.storeSubscription(command.ref, noted, lease);
  return noted;
}

/** Notes before the call that a command changes what an adoption that came to no end has left. */
export async function noteCall(context: OperationContext, unfinished: SubscriptionRecord): Promise<void> {
  const { command, records, lease, clock } = context;
  const begun = { begunBy: command.commandId, updatedAt: clock.wall() };
  const noted = { ...unfinished, ...begun, receiverUrl: receiverUrl(context, command.ref) };
  await records.storeSubscription(command.ref, noted, lease);
}

/**
 * The `replaced` of a record that takes the place of this one, sealed as that is: with the key in force. An `extra` that the new
 * record has too is left out.
 */
export function replacing(
  context: OperationContext,
  before: SubscriptionRecord | null | undefined,
  extra: string | null = extraOf(context),
): string {
  if (!before) return replacedText(null);
  const isIntent = before.state === 'REQUESTED';
  // Of one that is not needed any more the keys are left out; commands match by the rest (`ifMatch`).
  const isNeeded = !isForgettable(context, before);
  return replacedText({
    ...before,
    sealedKeys: isNeeded ? resealed(context, before, before) : null,
    extra: before.extra === extra ? undefined : (before.extra ?? null),
    replaced: isIntent ? replacing(context, beforeCommand(context, before), before.extra ?? null) : null,
  } as SubscriptionRecord);
}

/** What the ref goes back to if the command of this record comes to nothing: null where there was nothing before. */
export function beforeCommand(context: CarryDeps, record: SubscriptionRecord): SubscriptionRecord | null {
  // An intent of an older version tells it by the keys that it carries.
  return record.replaced == null ? lastRetired(context, record) : replacedBy(record);
}

/** The deleted subscription whose keys a record carries, and that of those before it; null where none is live. */
function lastRetired(context: CarryDeps, record: SubscriptionRecord): SubscriptionRecord | null {
  const [latest, ...earlier] = carriedSecrets(context, record).previous ?? [];
  if (!latest) return null;
  const { subscriptionId, retiredAt, ...keys } = latest;
  const secrets = { ...keys, ...(earlier.length > 0 && { previous: earlier }) };
  const retired = { ...record, state: 'RETIRED', subscriptionId, replaced: null } as const;
  return { ...retired, sealedKeys: sealSecrets(context.sealingKeys, retired, secrets), updatedAt: retiredAt };
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
