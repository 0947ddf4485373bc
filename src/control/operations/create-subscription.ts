import { HooklineError } from '../../core/errors.ts';
import { newEncryptionKey, signingPartFault } from '../../crypto/keys.ts';
import type { CreatedItem } from '../../provider/provider-api.ts';
import { type SubscriptionSecrets, sealSecrets } from '../../subscriptions/sealed-keys.ts';
import type { SubscriptionRecord } from '../../subscriptions/subscription-record.ts';
import { throwIfRefused } from '../command-session.ts';
import type { OperationContext, Settled } from '../control-parts.ts';
import { eventsOf, receiverUrl, serviceEvents } from '../receiver.ts';
import { carriedSecrets, secretsOf, storeState } from '../subscription-state.ts';
import { clearAddress } from './clear-address.ts';

/** Answers without the dialect's shape that are looked behind before the command has FAILED. */
const MOST_INVALID_ANSWERS = 3;

/**
 * Creates the subscription of a ref, effective once: the intent is stored before the call, and the receiver's address,
 * which is the ref's alone, tells afterwards whether a call whose answer was lost had its effect. A subscription whose
 * signing secret went with a lost answer is removed and created anew: what is ACTIVE can be verified.
 */
export async function createSubscription(context: OperationContext): Promise<Settled> {
  const { command, subscriptions } = context;
  const before = subscriptions.get(command.ref);
  if (before?.state === 'ACTIVE') {
    if (before.commandId !== command.commandId) throw new HooklineError('REF_IN_USE');
    // This very command, taken up again after its state was stored and its result was not.
    return { message: 'created', subscriptionId: before.subscriptionId };
  }
  const isResumed = before?.state === 'REQUESTED';
  if (command.dryRun) {
    return { message: `dry run: would be created for ${receiverUrl(context, command.ref)}` };
  }
  await clearAddress(context, isResumed);
  const events = eventsOf(context) ?? [];
  const secrets = await intendedSecrets(context, before);
  const sealed = (all: SubscriptionSecrets) => sealSecrets(context.sealingKeys, command.ref, all);
  await storeState(context, {
    state: 'REQUESTED',
    subscriptionId: null,
    events,
    sealedKeys: sealed(secrets),
  });
  const { id, signingSecret } = await createUntilVerifiable(context, secrets, before);
  const sealedKeys = sealed({ ...secrets, ...(signingSecret !== undefined && { signingSecret }) });
  await storeState(context, { state: 'ACTIVE', subscriptionId: id, events, sealedKeys });
  return { message: 'created', subscriptionId: id };
}

/** The encryption key is chosen before the call: of an intent that is there already, of SECRETS_DIR, or a new one. */
async function intendedSecrets(
  context: OperationContext,
  before: SubscriptionRecord | undefined,
): Promise<SubscriptionSecrets> {
  const fromDir = (await context.dirSecrets(context.command.ref)).encryptionKeys[0];
  const intended = before?.state === 'REQUESTED' ? secretsOf(context, before)?.encryptionKey : undefined;
  return { encryptionKey: fromDir ?? intended ?? newEncryptionKey(), ...carriedSecrets(context, before) };
}

async function createUntilVerifiable(
  context: OperationContext,
  secrets: SubscriptionSecrets,
  before: SubscriptionRecord | undefined,
): Promise<CreatedItem> {
  const { command, session } = context;
  const values = {
    ref: command.ref,
    url: receiverUrl(context, command.ref),
    events: serviceEvents(context, eventsOf(context)),
    encryptionKey: secrets.encryptionKey,
  };
  let invalid = 0;
  for (let attempt = 1; ; attempt++) {
    const outcome = await session.api.create(values, command.extra);
    const fault = outcome.judgement === 'done' ? await faultOf(outcome.created, context) : null;
    if (outcome.judgement === 'done' && fault === null && outcome.created) return outcome.created;
    if (fault !== null && ++invalid >= MOST_INVALID_ANSWERS) {
      await clearAddress(context, true);
      await withdrawIntent(context, before);
      throw new HooklineError('PROVIDER_ANSWER_INVALID', fault);
    }
    if (
      outcome.judgement === 'refused' ||
      outcome.judgement === 'unauthorised' ||
      outcome.judgement === 'gone'
    ) {
      await withdrawIntent(context, before);
      throwIfRefused({ ...outcome, judgement: 'refused' });
    }
    await session.waitBefore(attempt, outcome);
    // Whatever stands there now is what our own call has left.
    await clearAddress(context, true);
  }
}

/** Why a created subscription could not be verified; null where it can. */
async function faultOf(created: CreatedItem | null, context: OperationContext): Promise<string | null> {
  if (!created) return 'it has no id';
  const idFault = signingPartFault(created.id);
  if (idFault) return `the id ${idFault}`;
  if (created.signingSecret === undefined) {
    const { signingSecrets } = await context.dirSecrets(context.command.ref);
    return signingSecrets.length > 0
      ? null
      : 'it has no signing secret, and SECRETS_DIR has none for the ref';
  }
  const secretFault = signingPartFault(created.signingSecret);
  return secretFault && `the signing secret ${secretFault}`;
}

/** The ref is as it was before the command: nothing of it is at the payment service. */
async function withdrawIntent(
  context: OperationContext,
  before: SubscriptionRecord | undefined,
): Promise<void> {
  const kept = before?.state === 'RETIRED' ? before : null;
  await context.records.storeSubscription(context.command.ref, kept, context.signal);
}
