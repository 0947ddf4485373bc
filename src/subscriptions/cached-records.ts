import { isRef } from '../core/names.ts';
import type { Clock, Timer } from '../runtime/clock.ts';
import type { CacheFile } from '../runtime/startup-cache.ts';
import { SUBSCRIPTION_STATES, type SubscriptionRecord } from './subscription-record.ts';

/**
 * A file with the subscriptions as they were last read, so that a process that starts while Kafka is unavailable can verify
 * deliveries. Their secrets stay sealed.
 */
export type CachedRecords = {
  read(): SubscriptionRecord[];
  /** Writes them 0.2 s later, once for all changes in that time. */
  keep(records: () => readonly SubscriptionRecord[]): void;
  stop(): void;
};

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

type CachedRecord = Omit<SubscriptionRecord, 'sealedKeys'> & { readonly sealedKeys: string | null };

const toCached = (record: SubscriptionRecord): CachedRecord => ({
  ...record,
  sealedKeys: record.sealedKeys?.toString('base64') ?? null,
});

/** One incomplete record shows that the file was changed or damaged: nothing of it is used. */
function recordsIn(content: unknown): SubscriptionRecord[] {
  if (!Array.isArray(content)) throw new Error('it is not a list');
  return content.map((kept: unknown, n) => {
    if (!isCached(kept)) throw new Error(`item ${n} is not a subscription`);
    return { ...kept, sealedKeys: kept.sealedKeys === null ? null : Buffer.from(kept.sealedKeys, 'base64') };
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
    [kept.subscriptionId, kept.commandId, kept.extra ?? null].every(isTextOrNull) &&
    Array.isArray(kept.events) &&
    kept.events.every(isText) &&
    Number.isSafeInteger(kept.updatedAt) &&
    (kept.sealedKeys === null || (isText(kept.sealedKeys) && BASE64.test(kept.sealedKeys)))
  );
}
