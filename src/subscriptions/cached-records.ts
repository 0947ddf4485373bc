import { isRef } from '../core/names.ts';
import type { KeptFile } from '../runtime/startup-cache.ts';
import { SUBSCRIPTION_STATES, type SubscriptionRecord } from './subscription-record.ts';

/**
 * The subscriptions as they were last seen, in a file: a process that starts while Kafka is away verifies by them.
 * Their secrets stay sealed.
 */
export type KeptRecords = {
  read(): SubscriptionRecord[];
  /** Writes them a moment later, once for all that change in that time. */
  keep(records: () => readonly SubscriptionRecord[]): void;
  stop(): void;
};

const WRITE_AFTER_MS = 200;

export function keptRecords(file: KeptFile): KeptRecords {
  let timer: NodeJS.Timeout | undefined;
  return {
    read: () => file.read(recordsIn) ?? [],
    keep(records) {
      timer ??= setTimeout(() => {
        timer = undefined;
        file.write(records().map(toKept));
      }, WRITE_AFTER_MS);
    },
    stop: () => clearTimeout(timer),
  };
}

type Kept = Omit<SubscriptionRecord, 'sealedKeys'> & { readonly sealedKeys: string | null };

const toKept = (record: SubscriptionRecord): Kept => ({
  ...record,
  sealedKeys: record.sealedKeys?.toString('base64') ?? null,
});

/** One record that isn't whole says that the file is not what was written: none of it is believed. */
function recordsIn(content: unknown): SubscriptionRecord[] {
  if (!Array.isArray(content)) throw new Error('it is no list');
  return content.map((kept: unknown, n) => {
    if (!isKept(kept)) throw new Error(`item ${n} is no subscription`);
    return { ...kept, sealedKeys: kept.sealedKeys === null ? null : Buffer.from(kept.sealedKeys, 'base64') };
  });
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const isText = (value: unknown): value is string => typeof value === 'string';
const isTextOrNull = (value: unknown): value is string | null => value === null || isText(value);

function isKept(value: unknown): value is Kept {
  const kept = value as Partial<Record<keyof Kept, unknown>> | null;
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
