import type { KeptFile } from '../core/kept-file.ts';
import { isRef } from '../core/ref.ts';
import type { SubscriptionRecord } from './subscription-record.ts';

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
    read() {
      const kept = file.read();
      return Array.isArray(kept) ? kept.filter(isRecord).map(fromKept) : [];
    },
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

const isRecord = (kept: unknown): kept is Kept => isRef((kept as Kept | null)?.ref);

const toKept = (record: SubscriptionRecord): Kept => ({
  ...record,
  sealedKeys: record.sealedKeys?.toString('base64') ?? null,
});

const fromKept = (kept: Kept): SubscriptionRecord => ({
  ...kept,
  sealedKeys: kept.sealedKeys === null ? null : Buffer.from(kept.sealedKeys, 'base64'),
});
