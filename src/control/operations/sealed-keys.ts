import { OWN_ISSUERS } from '../../core/command.ts';
import { HooklineError } from '../../core/errors.ts';
import { MAX_EARLIER_LIVE } from '../../crypto/keys.ts';
import {
  openSecrets,
  type RetiredSecrets,
  type SubscriptionRecord,
  type SubscriptionSecrets,
  sealSecrets,
} from '../../subscriptions/subscription-record.ts';
import type { OperationContext, OperationDeps } from './operation.ts';

/** The secrets of a record, or undefined where it has none, or none that SEALING_KEY_FILE opens. */
export function secretsOf(
  { sealingKeys }: Pick<OperationDeps, 'sealingKeys'>,
  record: SubscriptionRecord,
): SubscriptionSecrets | undefined {
  return (record.sealedKeys && openSecrets(sealingKeys, record, record.sealedKeys)) ?? undefined;
}

/**
 * A command that takes the place of keys which no sealing key opens would lose what they open for good. By its ifMatch
 * somebody says that it may, other than a repair or a plan, which always have one.
 * @throws HooklineError KEYS_SEALED
 */
export function checkOpens(context: OperationContext, record: SubscriptionRecord): void {
  const { ifMatch, issuedBy } = context.command;
  if (record.sealedKeys === null || secretsOf(context, record)) return;
  if (ifMatch !== null && !OWN_ISSUERS.includes(issuedBy ?? '')) return;
  throw new HooklineError('KEYS_SEALED', record.commandId ?? undefined);
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

export type CarryDeps = Pick<OperationDeps, 'sealingKeys' | 'retired' | 'clock'>;

/** Of so many the encryption keys are kept: some tens of kilobytes. */
const MAX_KEPT = 100;

/**
 * Keys of the ref's earlier subscriptions, the one of this record included, whose deliveries may still be under way, or lie
 * somewhere unopened: a new one must not shut them out.
 */
export function carriedSecrets(
  context: CarryDeps,
  before: SubscriptionRecord | undefined,
): Pick<SubscriptionSecrets, 'previous'> {
  const secrets = before && secretsOf(context, before);
  if (!before || !secrets) return {};
  const { signingSecret, encryptionKey, previous: earlier = [] } = secrets;
  const { subscriptionId } = before;
  const now = context.clock.wall();
  const retiredAt = before.state === 'RETIRED' ? before.updatedAt : now;
  const latest = { signingSecret, encryptionKey, retiredAt };
  const all = [...(subscriptionId === null ? [] : [{ subscriptionId, ...latest }]), ...earlier];
  const { liveMs, keptMs } = context.retired;
  const previous = all
    .map((keys, age) =>
      age < MAX_EARLIER_LIVE && keys.retiredAt > now - liveMs ? keys : withoutSigning(keys),
    )
    .filter((keys) => keys.signingSecret !== undefined || keys.encryptionKey !== undefined)
    .filter((keys) => keys.retiredAt > now - keptMs)
    .slice(0, MAX_KEPT);
  return previous.length > 0 ? { previous } : {};
}

const withoutSigning = (keys: RetiredSecrets): RetiredSecrets => ({ ...keys, signingSecret: undefined });
