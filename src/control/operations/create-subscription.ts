import { endsCommand, HooklineError } from '../../core/errors.ts';
import { newEncryptionKey, signingPartFault } from '../../crypto/keys.ts';
import { isWithoutEffect, mayComeLater } from '../../provider/judge-answer.ts';
import type { CreatedItem } from '../../provider/provider-api.ts';
import type { TemplateValues } from '../../provider/template.ts';
import type { DirSecrets } from '../../subscriptions/secrets-dir.ts';
import {
  isUnfinished,
  type SubscriptionRecord,
  type SubscriptionSecrets,
  sealSecrets,
} from '../../subscriptions/subscription-record.ts';
import { clearAddress, listCredibly } from './clear-address.ts';
import type { OperationContext, Settled } from './operation.ts';
import { carriedSecrets, checkOpens, secretsOf } from './sealed-keys.ts';
import {
  beforeCommand,
  eventsOf,
  isOfAnotherRef,
  isReleased,
  noteBegin,
  providerEvents,
  receiverUrl,
  replacing,
  storeState,
  withdraw,
} from './subscription-state.ts';
import { usableFiles } from './usable-files.ts';

/**
 * Creates the subscription of a ref, effective once: the intent is stored before the call, and the receiver's address,
 * which is the ref's alone, tells afterwards whether a call whose answer was lost had its effect. A subscription whose
 * signing secret went with a lost answer is removed and created again: what is ACTIVE can be verified. One that the
 * provider no longer has is created anew by a command whose `ifMatch` names the state that says so.
 */
export async function createSubscription(context: OperationContext): Promise<Settled> {
  const { command, subscriptions } = context;
  const before = subscriptions.get(command.ref);
  const active = before?.state === 'ACTIVE' ? before : null;
  // This very command, resumed after its state was stored and before its result was.
  if (active?.commandId === command.commandId)
    return { message: 'created', subscriptionId: active.subscriptionId };
  if (active && !(await isMissing(context, active))) throw new HooklineError('REF_IN_USE');
  const isResumed = before?.state === 'REQUESTED';
  const dir = await usableFiles(context, isResumed ? before : null);
  if (before && !isResumed && !isReleased(context, before)) checkOpens(context, before);
  if (command.dryRun) {
    // A dry run only looks for a foreign subscription at the address: a real run would fail on it.
    if (!isResumed) await clearAddress(context, false);
    const events = command.events === null ? ', without events: the provider may refuse that' : '';
    return { message: `dry run: would be created for ${receiverUrl(context, command.ref)}${events}` };
  }
  if (before && isResumed) await noteBegin(context, before);
  const listed = await clearAddress(context, isResumed);
  if (active?.subscriptionId) await removeLost(context, active, active.subscriptionId);
  const events = eventsOf(context) ?? [];
  const secrets = intendedSecrets(context, before, dir);
  type Becomes = Pick<SubscriptionRecord, 'state' | 'subscriptionId' | 'replaced'>;
  const store = (becomes: Becomes, all: SubscriptionSecrets) => {
    const sealedKeys = sealSecrets(context.sealingKeys, { ...becomes, ref: command.ref }, all);
    return storeState(context, { ...becomes, events, sealedKeys });
  };
  const replaced = replacing(context, isResumed ? beforeCommand(context, before) : before);
  const intent = await store({ state: 'REQUESTED', subscriptionId: null, replaced }, secrets);
  const creation = { secrets, intent, dir, isResumed, listed: isResumed ? undefined : listed };
  const { created, isInDoubt } = await createOrWithdraw(context, creation);
  const { id, signingSecret } = created;
  const complete = { ...secrets, ...(signingSecret !== undefined && { signingSecret }) };
  await store({ state: 'ACTIVE', subscriptionId: id }, complete);
  if (isInDoubt || isResumed) await removeOthers(context, id);
  return { message: 'created', subscriptionId: id };
}

/** Whether the provider no longer has an active subscription, and the command knows of that one. */
async function isMissing(context: OperationContext, active: SubscriptionRecord): Promise<boolean> {
  // Of an unfinished adoption nobody was told that it is ours.
  if (context.command.ifMatch === null || isUnfinished(active)) return false;
  const items = await listCredibly(context);
  return items.every(({ id }) => id !== active.subscriptionId);
}

/** A list may be wrong: nothing stays whose webhooks would no longer be verified. */
async function removeLost(context: OperationContext, lost: SubscriptionRecord, id: string): Promise<void> {
  const { session } = context;
  await noteBegin(context, lost);
  await session.untilDone(() => session.api.remove(id));
}

/** What an earlier call of ours may have made late. What this does not see, the reconciler reports. */
async function removeOthers(context: OperationContext, id: string): Promise<void> {
  const { session } = context;
  await session
    .aside(() => clearAddress(context, true, { stays: (other) => isSameId(other, id) }))
    .catch((error) => {
      if (!endsCommand(error)) throw error;
    });
}

const withoutEvents = ({ command }: OperationContext) =>
  command.events === null ? '; the command names no events' : '';

/** What is taken for another one is removed: the one that was just made must not be, however a list spells its id. */
const isSameId = (one: string, other: string) => one.toLowerCase() === other.toLowerCase();

/** The encryption key is chosen before the call: of an intent that is there already, of SECRETS_DIR, or a new one. */
function intendedSecrets(
  context: OperationContext,
  before: SubscriptionRecord | undefined,
  dir: DirSecrets,
): SubscriptionSecrets {
  const intended = before?.state === 'REQUESTED' ? secretsOf(context, before)?.encryptionKey : undefined;
  const encryptionKey = dir.encryptionKeys[0] ?? intended ?? newEncryptionKey();
  return { encryptionKey, ...carriedSecrets(context, before) };
}

type Creation = {
  readonly secrets: SubscriptionSecrets;
  readonly intent: SubscriptionRecord;
  readonly dir: DirSecrets;
  /** Whether it takes up what an earlier try, its own perhaps, has left. */
  readonly isResumed: boolean;
  /** Ids that were listed before its first call; undefined where earlier calls may have had their effect by then. */
  readonly listed: ReadonlySet<string> | undefined;
};

/** If the creation fails, the ref is as it was before, the keys of deleted subscriptions included. */
async function createOrWithdraw(
  context: OperationContext,
  { secrets, intent, dir, isResumed, listed }: Creation,
): Promise<{ created: CreatedItem; isInDoubt: boolean }> {
  const { command, session } = context;
  const values = {
    ref: command.ref,
    url: receiverUrl(context, command.ref),
    events: providerEvents(context, eventsOf(context)),
    encryptionKey: secrets.encryptionKey,
  };
  const ended = await createUntilVerifiable(context, values, { dir, listed });
  if ('created' in ended) return ended;
  // If even this check fails the intent stays: something may be there, and the next command for the ref checks again.
  const isClear =
    !ended.mayStillCome &&
    (!ended.mayBeThere ||
      (await session
        .close(() => clearAddress(context, true, { listed }))
        .then(
          () => true,
          () => false,
        )));
  if (isClear) await withdraw(context, intent, isResumed);
  // A rejected command has changed nothing.
  else if (ended.failure.result === 'REJECTED')
    throw new HooklineError('PROVIDER_UNAVAILABLE', `${STAYS}: ${ended.failure.message}`);
  throw ended.failure;
}

const STAYS = "what was created could not be deleted; the ref's next command deletes it";

/** After so many answers without the dialect's shape the command has FAILED. */
const MAX_INVALID_ANSWERS = 3;

/**
 * A subscription that can be verified; or why there is none, whether something may be at the address all the same, and
 * whether it may still appear there: a call that the command's deadline has ended was not waited for, and a gateway that
 * gives up does not end what it has passed on.
 */
type Ended =
  | { readonly created: CreatedItem; readonly isInDoubt: boolean }
  | { readonly failure: HooklineError; readonly mayBeThere: boolean; readonly mayStillCome: boolean };

/** Asks for the subscription until there is one that can be verified. Between two calls the address is cleared. */
async function createUntilVerifiable(
  context: OperationContext,
  values: TemplateValues,
  { dir, listed }: Pick<Creation, 'dir' | 'listed'>,
): Promise<Ended> {
  const { command, session } = context;
  let invalid = 0;
  let mayBeThere = false;
  let mayStillCome = false;
  let doubt = '';
  try {
    for (let attempt = 1; ; attempt++) {
      const outcome = await session.api.create(values, command.extra);
      const fault = outcome.judgement === 'done' ? faultOf(context, outcome.created, dir) : null;
      mayBeThere = !isWithoutEffect(outcome);
      if (fault === SHUT_OUT)
        throw new HooklineError('KEYS_INVALID', `${command.ref}/signing-secret: ${fault}`);
      if (outcome.judgement === 'done' && fault === null && outcome.created)
        return { created: outcome.created, isInDoubt: doubt !== '' };
      if (['refused', 'unauthorised', 'gone'].includes(outcome.judgement))
        throw new HooklineError('PROVIDER_REFUSED', `${outcome.why}${withoutEvents(context)}${doubt}`);
      if (mayBeThere) doubt = `; an earlier call may have had its effect: ${outcome.why}`;
      // What was only accepted, and is not named yet, may be made later: it is not asked for once more.
      const isOpen = mayComeLater(outcome) && !(outcome.judgement === 'done' && outcome.created);
      mayStillCome ||= isOpen;
      if (fault !== null && (++invalid >= MAX_INVALID_ANSWERS || isOpen))
        throw new HooklineError('PROVIDER_ANSWER_INVALID', fault);
      await session.waitBefore(attempt, outcome);
      // Whatever is there now was left by our own call.
      if (doubt !== '') await clearAddress(context, true, { listed });
      mayBeThere = false;
    }
  } catch (error) {
    if (endsCommand(error)) return { failure: error, mayBeThere, mayStillCome };
    throw error;
  }
}

/** The keys in files come first, and are those of an earlier subscription. */
const SHUT_OUT =
  'webhooks of the new subscription would be refused, as the provider gave it another secret; remove this file';

/** Why a created subscription could not be verified; null where it can. */
function faultOf(
  context: OperationContext,
  created: CreatedItem | null,
  { signingSecrets }: DirSecrets,
): string | null {
  if (!created) return 'it has no id';
  if (isOfAnotherRef(context, created.id)) return "the id is that of another ref's subscription";
  const idFault = signingPartFault(created.id);
  if (idFault) return `the id ${idFault}`;
  if (created.signingSecret === undefined) {
    return signingSecrets.length > 0
      ? null
      : 'it has no signing secret, and SECRETS_DIR has none for the ref';
  }
  const secretFault = signingPartFault(created.signingSecret);
  if (secretFault) return `the signing secret ${secretFault}`;
  return signingSecrets.length > 0 && !signingSecrets.includes(created.signingSecret) ? SHUT_OUT : null;
}
