import { OWN_ISSUERS } from '../../core/command.ts';
import { HooklineError } from '../../core/errors.ts';
import { MAX_EARLIER_LIVE } from '../../crypto/keys.ts';
import type { Dialect } from '../../provider/dialect.ts';
import { placeholdersIn } from '../../provider/template.ts';
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
  record: Sealed,
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
  before: Sealed,
  becomes: Pick<SubscriptionRecord, 'state' | 'subscriptionId'>,
): Buffer | null {
  const secrets = secretsOf({ sealingKeys }, before);
  if (!secrets) return before.sealedKeys;
  return sealSecrets(sealingKeys, { ...becomes, ref: before.ref }, secrets);
}

/** What seals and opens the secrets of a record. */
type Sealed = Pick<SubscriptionRecord, 'ref' | 'state' | 'subscriptionId' | 'sealedKeys'>;

export type CarryDeps = Pick<OperationDeps, 'sealingKeys' | 'retired' | 'clock'>;

/** The most earlier encryption keys that a record keeps: they take some tens of kilobytes. */
const MAX_KEPT = 100;

/**
 * In place of a key's time of retirement: the provider may use it for the current subscription, as the call that told it may have had
 * its effect.
 */
const NOT_RETIRED = Number.MAX_SAFE_INTEGER;

/** The encryption key that an update tells the provider: that of SECRETS_DIR, else the record's; undefined if the dialect sends none. */
export function toldKey(
  { update }: Pick<Dialect, 'update'>,
  keyInFile: string | undefined,
  secrets: SubscriptionSecrets | undefined,
): string | undefined {
  return placeholdersIn(update.body).includes('encryptionKey')
    ? (keyInFile ?? secrets?.encryptionKey)
    : undefined;
}

/**
 * The sealed keys of a record that also open what the provider encrypts with this key: it is about to be told. The earlier key
 * stays in force until it is certain that the provider has taken the new one. Keys that nothing opens are given up for it: `checkOpens`
 * has permitted that.
 */
export function withTold(context: CarryDeps, record: Sealed, told: string | undefined): Buffer | null {
  const secrets = secretsOf(context, record) ?? {};
  const { encryptionKey, previous = [] } = secrets;
  const isKept = previous.some((one) => one.encryptionKey === told && one.retiredAt === NOT_RETIRED);
  const { subscriptionId } = record;
  if (told === undefined || subscriptionId === null || told === encryptionKey || isKept)
    return record.sealedKeys;
  if (record.sealedKeys !== null && !secretsOf(context, record))
    return sealSecrets(context.sealingKeys, record, { encryptionKey: told });
  const one = { subscriptionId, encryptionKey: told, retiredAt: NOT_RETIRED };
  const all = { ...secrets, previous: [one, ...previous].slice(0, MAX_KEPT) };
  return sealSecrets(context.sealingKeys, record, all);
}

/** The sealed keys of a record for what it becomes, when the provider has taken the key that it was told. */
export function withTaken(
  context: CarryDeps,
  record: Sealed,
  becomes: Pick<SubscriptionRecord, 'state' | 'subscriptionId'>,
  told: string | undefined,
): Buffer | null {
  const secrets = secretsOf(context, record);
  const { subscriptionId } = record;
  if (told === undefined || subscriptionId === null || !secrets) return resealed(context, record, becomes);
  const now = context.clock.wall();
  const { previous: earlier = [], encryptionKey, ...others } = secrets;
  const inForce = { subscriptionId, encryptionKey, retiredAt: NOT_RETIRED };
  const all = [inForce, ...earlier]
    .filter((one) => one.encryptionKey !== told || one.retiredAt !== NOT_RETIRED)
    .map((one) => ({ ...one, retiredAt: Math.min(one.retiredAt, now) }));
  const previous = keptOf(context, all, subscriptionId);
  const taken = { ...others, encryptionKey: told, ...(previous.length > 0 && { previous }) };
  return sealSecrets(context.sealingKeys, { ...becomes, ref: record.ref }, taken);
}

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
  const retiredAt = before.state === 'RETIRED' ? before.updatedAt : context.clock.wall();
  const latest = { signingSecret, encryptionKey, retiredAt };
  const all = [...(subscriptionId === null ? [] : [{ subscriptionId, ...latest }]), ...earlier];
  // What the provider may have used was retired with its subscription.
  const retired = all.map((keys) => ({ ...keys, retiredAt: Math.min(keys.retiredAt, retiredAt) }));
  const previous = keptOf(context, retired);
  return previous.length > 0 ? { previous } : {};
}

/** @param current whose earlier encryption keys are none of an earlier subscription */
function keptOf(
  { retired, clock }: CarryDeps,
  all: readonly RetiredSecrets[],
  current?: string,
): RetiredSecrets[] {
  const { liveMs, keptMs } = retired;
  const now = clock.wall();
  // A subscription may have had several encryption keys.
  const ids = [...new Set(all.map(({ subscriptionId }) => subscriptionId))].filter((id) => id !== current);
  return all
    .map((keys) =>
      ids.indexOf(keys.subscriptionId) < MAX_EARLIER_LIVE && keys.retiredAt > now - liveMs
        ? keys
        : withoutSigning(keys),
    )
    .filter((keys) => keys.signingSecret !== undefined || keys.encryptionKey !== undefined)
    .filter((keys) => keys.retiredAt > now - keptMs)
    .slice(0, MAX_KEPT);
}

const withoutSigning = (keys: RetiredSecrets): RetiredSecrets => ({ ...keys, signingSecret: undefined });
