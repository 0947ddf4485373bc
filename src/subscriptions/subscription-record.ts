import { type SealingKeys, seal, unseal } from '../crypto/sealing.ts';

/** What is known of a ref: a record of the compacted topic `subscriptions` (schemas/commands/subscription.avsc). */
export type SubscriptionRecord = {
  readonly ref: string;
  readonly state: SubscriptionState;
  readonly subscriptionId: string | null;
  readonly receiverUrl: string;
  readonly events: readonly string[];
  /** The command topic that created it. */
  readonly owner: string;
  readonly sealedKeys: Buffer | null;
  readonly commandId: string | null;
  /** JSON of the `extra` that was last sent for it; a repair sends it again. Absent where it was not kept yet. */
  readonly extra?: string | null;
  /** Milliseconds since 1970. */
  readonly updatedAt: number;
};

export const SUBSCRIPTION_STATES = ['REQUESTED', 'ACTIVE', 'RETIRED'] as const;
export type SubscriptionState = (typeof SUBSCRIPTION_STATES)[number];

/** The `extra` that was accepted for a ref; none where the record holds no JSON object: others may write to the topic too. */
export function acceptedExtra(
  record: Pick<SubscriptionRecord, 'extra'> | undefined,
): Readonly<Record<string, unknown>> {
  try {
    const extra: unknown = JSON.parse(record?.extra || '{}');
    const isObject = typeof extra === 'object' && extra !== null && !Array.isArray(extra);
    return isObject ? (extra as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}

/** The secrets of one subscription, as they are sealed into its record. */
export type SubscriptionSecrets = {
  readonly encryptionKey?: string;
  /** Not there yet while the subscription is only requested. */
  readonly signingSecret?: string;
  /** Of subscriptions that this ref had before: deliveries of theirs may still be under way. */
  readonly previous?: readonly RetiredSecrets[];
};

export type RetiredSecrets = {
  readonly subscriptionId: string;
  readonly signingSecret: string;
  readonly encryptionKey?: string;
  /** Milliseconds since 1970. */
  readonly retiredAt: number;
};

/** What sealed secrets belong to, and are authenticated with. */
type SealedFor = Pick<SubscriptionRecord, 'ref' | 'subscriptionId' | 'state'>;

/** Seals in format 2: under another ref, subscription id or state the value does not open. */
export function sealSecrets(keys: SealingKeys, owner: SealedFor, secrets: SubscriptionSecrets): Buffer {
  return seal(keys, formatTwo(owner), Buffer.from(JSON.stringify(secrets)));
}

/** The secrets, or null where no sealing key opens them as this owner's. */
export function openSecrets(keys: SealingKeys, owner: SealedFor, sealed: Buffer): SubscriptionSecrets | null {
  const plain = unseal(keys, formatTwo(owner), sealed) ?? unseal(keys, formatOne(owner), sealed);
  return plain === null ? null : JSON.parse(plain.toString('utf8'));
}

/** JSON sets the three apart, whatever they hold; the first word keeps them from other uses of the sealing key. */
const formatTwo = ({ ref, subscriptionId, state }: SealedFor) => ({
  format: 2,
  aad: Buffer.from(JSON.stringify(['subscription-keys', ref, subscriptionId, state])),
});

/** As 0.1.0 sealed: tied to the ref alone. Only opened; the next change of the record seals in format 2. */
const formatOne = ({ ref }: SealedFor) => ({ format: 1, aad: Buffer.from(ref) });
