import { type SealingKeys, seal, unseal } from '../crypto/sealing.ts';

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

export function sealSecrets(keys: SealingKeys, ref: string, secrets: SubscriptionSecrets): Buffer {
  return seal(keys, formatOf(ref), Buffer.from(JSON.stringify(secrets)));
}

/** The secrets, or null where no sealing key opens them. */
export function openSecrets(keys: SealingKeys, ref: string, sealed: Buffer): SubscriptionSecrets | null {
  const text = unseal(keys, formatOf(ref), sealed);
  return text === null ? null : JSON.parse(text.toString('utf8'));
}

const formatOf = (ref: string) => ({ format: 1, aad: Buffer.from(ref) });
