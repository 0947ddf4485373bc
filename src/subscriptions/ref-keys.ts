import { type EncryptionKey, encryptionKey, type SigningKey, signingKey } from '../crypto/keys.ts';
import type { SubscriptionSecrets } from './sealed-keys.ts';
import type { DirSecrets } from './secrets-dir.ts';
import type { SubscriptionRecord } from './subscription-record.ts';

/** The live keys of one ref, the current ones first. */
export type RefKeys = {
  readonly signing: readonly SigningKey[];
  readonly encryption: readonly EncryptionKey[];
  /** When the first of them stops being live: a retired subscription's keys do. */
  readonly expiresAt: number;
};

export type KeySources = {
  readonly record?: SubscriptionRecord;
  readonly secrets?: SubscriptionSecrets | null;
  readonly dir?: DirSecrets;
};

/**
 * Works out a ref's live keys. Files come first: where they hold signing secrets, the record's are not live. A file
 * with the secret alone is joined with the record's subscription id: the secret may come another way than the answer.
 * @returns null where the ref has no key that is live
 */
export function refKeys(sources: KeySources, retiredKeysTtlMs: number, now: number): RefKeys | null {
  const { record, dir } = sources;
  const recorded = recordedKeys(sources, retiredKeysTtlMs).filter((keys) => keys.until > now);
  const ids = dir?.subscriptionIds.length ? dir.subscriptionIds : toList(record?.subscriptionId);
  // While ids and secrets are being rotated any of the pairs may have been used.
  const fromDir = ids.flatMap((id) => (dir?.signingSecrets ?? []).map((secret) => ({ id, secret })));
  const pairs =
    fromDir.length > 0
      ? fromDir
      : recorded.flatMap(({ id, secret }) => (id && secret ? [{ id, secret }] : []));
  const openers = dir?.encryptionKeys.length
    ? dir.encryptionKeys
    : recorded.flatMap(({ opener }) => toList(opener));
  if (pairs.length === 0 && openers.length === 0) return null;
  return {
    signing: pairs.map(({ id, secret }, place) => signingKey(id, secret, place)),
    encryption: [...new Set(openers)].map((text, place) => encryptionKey(text, place)),
    expiresAt: Math.min(...recorded.map((keys) => keys.until)),
  };
}

type Recorded = {
  id: string | undefined;
  secret: string | undefined;
  opener: string | undefined;
  until: number;
};

/** What the record holds, the current subscription's first, each with the end of its time. */
function recordedKeys({ record, secrets }: KeySources, ttlMs: number): Recorded[] {
  if (!record || !secrets) return [];
  const until = record.state === 'RETIRED' ? record.updatedAt + ttlMs : Number.POSITIVE_INFINITY;
  const id = record.subscriptionId ?? undefined;
  const current = { id, secret: secrets.signingSecret, opener: secrets.encryptionKey, until };
  const previous = (secrets.previous ?? []).map((retired) => ({
    id: retired.subscriptionId,
    secret: retired.signingSecret,
    opener: retired.encryptionKey,
    until: retired.retiredAt + ttlMs,
  }));
  return [current, ...previous];
}

const toList = (text: string | null | undefined): readonly string[] => (text ? [text] : []);
