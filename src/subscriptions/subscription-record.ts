import { isRef } from '../core/names.ts';
import { type SealingKeys, seal, unseal } from '../crypto/sealing.ts';
import type { Clock, Timer } from '../runtime/clock.ts';
import type { CacheFile } from '../runtime/startup-cache.ts';

/** The state of a ref: a record of the compacted topic `subscriptions` (schemas/commands/subscription.avsc). */
export type SubscriptionRecord = {
  readonly ref: string;
  readonly state: SubscriptionState;
  readonly subscriptionId: string | null;
  readonly receiverUrl: string;
  readonly events: readonly string[];
  /** The command topic that created it. */
  readonly owner: string;
  readonly sealedKeys: Buffer | null;
  /** The command that changed it last. */
  readonly commandId: string | null;
  /**
   * A command that was begun since (it has an expiry, or changes an unfinished adoption); or the same as `commandId`, of an adoption or
   * update that was carried out.
   * Absent in records of older versions, which had the id of one that was begun as `commandId`.
   */
  readonly begunBy?: string | null;
  /** JSON of the `extra` that was last sent for it; a repair sends it again. Absent in records of older versions. */
  readonly extra?: string | null;
  /**
   * JSON of what this record took the place of, while it is not certain that its command has an effect: if it has none,
   * the ref goes back to that. Absent in records of older versions.
   */
  readonly replaced?: string | null;
  /** Milliseconds since 1970. */
  readonly updatedAt: number;
};

export const SUBSCRIPTION_STATES = ['REQUESTED', 'ACTIVE', 'RETIRED'] as const;
export type SubscriptionState = (typeof SUBSCRIPTION_STATES)[number];

/** The `extra` that was accepted for a ref; empty if the record has no JSON object, as others may write to the topic. */
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

/** The secrets of one subscription that its record has sealed. */
export type SubscriptionSecrets = {
  readonly encryptionKey?: string | undefined;
  /** Absent while the subscription is only requested. */
  readonly signingSecret?: string | undefined;
  /** Of earlier subscriptions of this ref, whose deliveries may still arrive. */
  readonly previous?: readonly RetiredSecrets[];
};

export type RetiredSecrets = {
  readonly subscriptionId: string;
  /** Absent where a file has it, and of those that are kept only to open what was verified before. */
  readonly signingSecret?: string | undefined;
  readonly encryptionKey?: string | undefined;
  /** Milliseconds since 1970. */
  readonly retiredAt: number;
};

/** The owner of sealed secrets, which is their additional authenticated data. */
type SealedFor = Pick<SubscriptionRecord, 'ref' | 'subscriptionId' | 'state'>;

/** Seals in format 2: under another ref, subscription id or state the value does not open. */
export function sealSecrets(keys: SealingKeys, owner: SealedFor, secrets: SubscriptionSecrets): Buffer {
  return seal(keys, formatTwo(owner), Buffer.from(JSON.stringify(secrets)));
}

/** The secrets, or null if no sealing key opens them for this owner. */
export function openSecrets(keys: SealingKeys, owner: SealedFor, sealed: Buffer): SubscriptionSecrets | null {
  const plain = unseal(keys, formatTwo(owner), sealed) ?? unseal(keys, formatOne(owner), sealed);
  return plain === null ? null : JSON.parse(plain.toString('utf8'));
}

/** JSON separates the three unambiguously; the first word separates them from other uses of the sealing key. */
const formatTwo = ({ ref, subscriptionId, state }: SealedFor) => ({
  format: 2,
  aad: Buffer.from(JSON.stringify(['subscription-keys', ref, subscriptionId, state])),
});

/** Format 1, of version 0.1.0: bound to the ref only. It is only opened; the next change of the record seals in format 2. */
const formatOne = ({ ref }: SealedFor) => ({ format: 1, aad: Buffer.from(ref) });

/**
 * A file with the subscriptions as they were last read, so that a process that starts while Kafka is unavailable can verify
 * deliveries. Their secrets stay sealed.
 */
export type CachedRecords = {
  read(): KnownRecord[];
  /** Writes them 0.2 s later, once for all changes in that time. */
  keep(records: () => readonly KnownRecord[]): void;
  stop(): void;
};

/** A record, and the id of the topic that it was read of; absent in the files of older versions. */
export type KnownRecord = SubscriptionRecord & { readonly topicId?: string };

const WRITE_AFTER_MS = 200;

export function cachedRecords(file: CacheFile, clock: Clock): CachedRecords {
  let timer: Timer | undefined;
  return {
    read: () => file.read(recordsIn) ?? [],
    keep(records) {
      timer ??= clock.after(WRITE_AFTER_MS, () => {
        timer = undefined;
        file.write(records().map(toCached));
      });
    },
    stop: () => timer?.cancel(),
  };
}

/** Whether it is of an adoption that did not come to its end: the provider may have its effect or not. */
export const isUnfinished = ({ state, replaced }: Pick<SubscriptionRecord, 'state' | 'replaced'>): boolean =>
  state === 'ACTIVE' && replaced != null;

/**
 * The subscription that the provider should have: also while it is created anew, or where that has not come to its end. Its
 * commandId, events and extra are then those of this creation.
 */
export function wantedBy(record: SubscriptionRecord): SubscriptionRecord | null {
  if (record.state === 'ACTIVE') return record;
  const before = record.state === 'REQUESTED' ? replacedBy(record) : null;
  if (before?.state !== 'ACTIVE') return null;
  const { commandId, events, extra = null } = record;
  return { ...before, commandId, events, extra };
}

/** A record, or that there was none, as the `replaced` of the one that takes its place. */
export const replacedText = (before: SubscriptionRecord | null): string =>
  JSON.stringify(before && toCached(before));

/** The record that a record took the place of; null if there was none, or what says so is damaged. */
export function replacedBy(
  record: Pick<SubscriptionRecord, 'replaced' | 'extra'>,
): SubscriptionRecord | null {
  try {
    const kept: unknown = JSON.parse(record.replaced ?? 'null');
    if (!isCached(kept)) return null;
    // What both have is left out.
    return { ...fromCached(kept), extra: (kept.extra === undefined ? record.extra : kept.extra) ?? null };
  } catch {
    return null;
  }
}

type CachedRecord = Omit<KnownRecord, 'sealedKeys'> & { readonly sealedKeys: string | null };

const toCached = (record: KnownRecord): CachedRecord => ({
  ...record,
  sealedKeys: record.sealedKeys?.toString('base64') ?? null,
});

const fromCached = (kept: CachedRecord): KnownRecord => ({
  ...kept,
  sealedKeys: kept.sealedKeys === null ? null : Buffer.from(kept.sealedKeys, 'base64'),
});

/** One incomplete record shows that the file was changed or damaged: nothing of it is used. */
function recordsIn(content: unknown): KnownRecord[] {
  if (!Array.isArray(content)) throw new Error('it is not a list');
  return content.map((kept: unknown, n) => {
    if (!isCached(kept)) throw new Error(`item ${n} is not a subscription`);
    return fromCached(kept);
  });
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const isText = (value: unknown): value is string => typeof value === 'string';
const isTextOrNull = (value: unknown): value is string | null => value === null || isText(value);

function isCached(value: unknown): value is CachedRecord {
  const kept = value as Partial<Record<keyof CachedRecord, unknown>> | null;
  return (
    isRef(kept?.ref) &&
    SUBSCRIPTION_STATES.some((state) => state === kept.state) &&
    [kept.receiverUrl, kept.owner].every(isText) &&
    [kept.subscriptionId, kept.commandId].every(isTextOrNull) &&
    [kept.begunBy, kept.extra, kept.replaced].every((text) => isTextOrNull(text ?? null)) &&
    isText(kept.topicId ?? '') &&
    Array.isArray(kept.events) &&
    kept.events.every(isText) &&
    Number.isSafeInteger(kept.updatedAt) &&
    (kept.sealedKeys === null || (isText(kept.sealedKeys) && BASE64.test(kept.sealedKeys)))
  );
}
