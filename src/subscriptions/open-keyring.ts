import type { RecordReader } from '../avro/record-reader.ts';
import type { SealingKeys } from '../crypto/sealing.ts';
import type { KafkaClient } from '../kafka/connect/kafkajs-client.ts';
import type { KeptRecords } from './cached-records.ts';
import { LiveKeyring } from './keyring.ts';
import { watchSecrets } from './secrets-dir.ts';
import { readSubscriptionTable, type SubscriptionTable } from './state-topic.ts';
import { openSecrets, type SubscriptionRecord, type SubscriptionSecrets } from './subscription-record.ts';

export type KeyringParts = {
  readonly secretsDir: string | undefined;
  readonly retiredKeysTtlMs: number;
  /** undefined where SEALING_KEY_FILE isn't set: keys then come from SECRETS_DIR alone. */
  readonly sealingKeys: SealingKeys | undefined;
  readonly kafka: KafkaClient;
  /** Full name of the compacted topic. */
  readonly topic: string;
  readonly newGroupId: () => string;
  readonly read: RecordReader;
  readonly observer: KeyringObserver;
  /** How the topic is opened: a process tries until it is there, a command of the CLI once. */
  readonly open: <T>(attempt: () => Promise<T>) => Promise<T>;
  readonly stopping: AbortSignal;
  /** What an earlier process saw of the topic; it counts until the topic has been read. */
  readonly kept?: KeptRecords;
};

export type KeyringObserver = {
  /** The files of a ref were read; `present` is false where its folder is gone. */
  secretsRead(ref: string, present: boolean): void;
  secretsFaulty(ref: string, error: Error): void;
  /** No sealing key opens what the topic holds of this ref. */
  sealed(ref: string): void;
  unreadable(error: unknown, at: string): void;
  /** The record at `at` waits for the schema registry. */
  awaited(error: unknown, at: string): void;
  /** The topic's reading broke off, and is begun anew. */
  brokenOff(error: Error): void;
};

export type OpenKeyring = {
  readonly keyring: LiveKeyring;
  /** Settles when the topic has been read. Until then what the keyring doesn't know is pending, not unknown. */
  readonly topicRead: Promise<void>;
  stop(): Promise<void>;
};

/** Fills a keyring from SECRETS_DIR and the `subscriptions` topic, and keeps it so. Resolves when the files were read. */
export async function openKeyring(parts: KeyringParts): Promise<OpenKeyring> {
  const { secretsDir, observer, kafka, topic, newGroupId, read } = parts;
  const keyring = new LiveKeyring({ retiredKeysTtlMs: parts.retiredKeysTtlMs, isComplete: false });
  const secrets =
    secretsDir !== undefined &&
    (await watchSecrets({
      dir: secretsDir,
      onChange(ref, dirSecrets) {
        keyring.setDir(ref, dirSecrets);
        observer.secretsRead(ref, dirSecrets !== null);
      },
      onFault: (ref, error) => observer.secretsFaulty(ref, error),
    }));
  const follow = followKeys({
    keyring,
    sealingKeys: parts.sealingKeys,
    onSealed: (ref) => observer.sealed(ref),
  });
  const before = parts.kept?.read() ?? [];
  for (const record of before) follow(record.ref, record);
  let table: SubscriptionTable | undefined;
  const onChange = (ref: string, record: SubscriptionRecord | null) => {
    follow(ref, record);
    parts.kept?.keep(() => table?.all() ?? []);
  };
  const onUnreadable = (error: unknown, at: string) => observer.unreadable(error, at);
  const onAwaited = (error: unknown, at: string) => observer.awaited(error, at);
  const onBrokenOff = (error: Error) => observer.brokenOff(error);
  const readTopic = async () => {
    const opened = await parts.open(() =>
      readSubscriptionTable({
        ...{ kafka, topic, newGroupId, read },
        ...{ onChange, onUnreadable, onAwaited, onBrokenOff },
      }),
    );
    table = opened;
    await opened.caughtUp(parts.stopping);
    for (const { ref } of before) if (!opened.get(ref)) onChange(ref, null);
    keyring.complete();
  };
  const topicRead = readTopic();
  // Whoever needs it awaits it; where nobody does, the stop is the only end that it has.
  topicRead.catch(() => {});
  return {
    keyring,
    topicRead,
    async stop() {
      if (secrets) await secrets.stop();
      parts.kept?.stop();
      await table?.stop();
    },
  };
}

/** Hands a record of the `subscriptions` topic to the keyring, its secrets opened. */
export function followKeys(parts: {
  keyring: LiveKeyring;
  sealingKeys: SealingKeys | undefined;
  /** The secrets of a ref can't be opened: its deliveries can't be verified by them. */
  onSealed: (ref: string) => void;
}): (ref: string, record: SubscriptionRecord | null) => void {
  return (ref, record) => {
    let secrets: SubscriptionSecrets | null = null;
    if (record?.sealedKeys) {
      secrets = parts.sealingKeys ? openSecrets(parts.sealingKeys, record, record.sealedKeys) : null;
      if (!secrets) parts.onSealed(ref);
    }
    parts.keyring.setRecord(ref, record, secrets);
  };
}
