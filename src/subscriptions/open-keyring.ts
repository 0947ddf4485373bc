import type { RecordReader } from '../avro/record-reader.ts';
import { hasCode } from '../core/errors.ts';
import type { SealingKeys } from '../crypto/sealing.ts';
import type { OpenTopic } from '../kafka/consume/topic-fetcher.ts';
import type { Clock } from '../runtime/clock.ts';
import type { LiveSealingKeys } from '../runtime/sealing-key-file.ts';
import { LiveKeyring } from './keyring.ts';
import { watchSecrets } from './secrets-dir.ts';
import { readSubscriptionTable, type SubscriptionTable } from './state-topic.ts';
import {
  type CachedRecords,
  type KnownRecord,
  openSecrets,
  type SubscriptionRecord,
  type SubscriptionSecrets,
} from './subscription-record.ts';

export type KeyringDeps = {
  readonly secretsDir: string | undefined;
  readonly retiredKeysTtlMs: number;
  /** undefined if SEALING_KEY_FILE is unset: then keys come from SECRETS_DIR only. */
  readonly sealingKeys: (SealingKeys & Partial<Pick<LiveSealingKeys, 'onRenewed'>>) | undefined;
  readonly openTopic: OpenTopic;
  /** Full name of the compacted topic. */
  readonly topic: string;
  readonly read: RecordReader;
  readonly observer: KeyringObserver;
  /** Opens the topic: a process tries until it exists, a command of the CLI tries once. */
  readonly open: <T>(attempt: () => Promise<T>) => Promise<T>;
  readonly stopping: AbortSignal;
  readonly clock: Clock;
  /** What an earlier process read from the topic; used until the topic has been read. */
  readonly cache?: CachedRecords;
};

export type KeyringObserver = {
  /** The files of a ref were read; `present` is false if its folder was removed. */
  secretsRead(ref: string, present: boolean): void;
  /** The files of a ref cannot be used. `isKept`: what was read from them before stays in use; else there is nothing. */
  secretsFaulty(ref: string, error: Error, isKept: boolean): void;
  /** No sealing key opens the secrets in this ref's record. */
  sealed(ref: string): void;
  unreadable(error: unknown, at: string): void;
  /** The record at `at` waits for the schema registry. */
  awaited(error: unknown, at: string): void;
  /** Reading the topic was interrupted; it starts again. */
  brokenOff(error: Error): void;
  /** The topic was deleted and created anew, and may lack so many subscriptions that were known. They stay. */
  lost?(known: number): void;
};

export type OpenKeyring = {
  readonly keyring: LiveKeyring;
  /** Settles when the topic has been read. Until then a ref that the keyring does not know is pending, not unknown. */
  readonly topicRead: Promise<void>;
  /** Resolves with it, and never where the process stops before. */
  readonly keysKnown: Promise<void>;
  stop(): Promise<void>;
};

/** Fills a keyring from SECRETS_DIR and the `subscriptions` topic and keeps it current. Resolves when the files were read. */
export async function openKeyring(deps: KeyringDeps): Promise<OpenKeyring> {
  const { secretsDir, observer, openTopic, topic, read } = deps;
  const keyring = new LiveKeyring({
    retiredKeysTtlMs: deps.retiredKeysTtlMs,
    isComplete: false,
    clock: deps.clock,
  });
  const secrets =
    secretsDir !== undefined &&
    (await watchSecrets({
      dir: secretsDir,
      clock: deps.clock,
      onChange(ref, dirSecrets) {
        keyring.setDir(ref, dirSecrets);
        observer.secretsRead(ref, dirSecrets !== null);
      },
      onFault: (ref, error, isKept) => observer.secretsFaulty(ref, error, isKept),
    }));
  /** What no sealing key opens, by its ref: a renewed file may have the key. */
  const sealed = new Map<string, SubscriptionRecord>();
  /** Until the topic has been read, a later record may have other secrets, or forget the ref. */
  const told = new Set<string>();
  const tellSealed = () => {
    for (const ref of sealed.keys()) if (!told.has(ref)) observer.sealed(ref);
    for (const ref of sealed.keys()) told.add(ref);
  };
  let isRead = false;
  const open = followKeys({
    keyring,
    sealingKeys: deps.sealingKeys,
    onSealed(record) {
      sealed.set(record.ref, record);
      if (isRead) observer.sealed(record.ref);
    },
  });
  const follow = (ref: string, record: SubscriptionRecord | null) => {
    sealed.delete(ref);
    open(ref, record);
  };
  /** The latest record of these: what is known of them stays. */
  const unreadable = new Set<string>();
  deps.sealingKeys?.onRenewed?.(() => {
    for (const [ref, record] of [...sealed]) {
      follow(ref, record);
      // It is not its latest.
      if (unreadable.has(ref)) keyring.setUnreadable(ref);
    }
  });
  const before = deps.cache?.read() ?? [];
  for (const record of before) follow(record.ref, record);
  tellSealed();
  // What has not been read again yet is kept: the topic may not be read to its end this time.
  const known = new Map<string, KnownRecord>(before.map((record) => [record.ref, record]));
  let table: SubscriptionTable | undefined;
  const onChange = (ref: string, record: SubscriptionRecord | null, topicId: string) => {
    unreadable.delete(ref);
    follow(ref, record);
    if (record) known.set(ref, { ...record, topicId });
    else known.delete(ref);
    deps.cache?.keep(() => [...known.values()]);
  };
  const onUnreadable = (error: unknown, at: string, ref: string) => {
    observer.unreadable(error, at);
    unreadable.add(ref);
    keyring.setUnreadable(ref);
  };
  let isCatchingUp = false;
  let failedAt = 0;
  /** Until the topic is read to its end, and without a failure: what is not known may be written there. */
  const catchUp = () => {
    if (!table) return;
    failedAt = deps.clock.now();
    keyring.incomplete();
    if (isCatchingUp) return;
    isCatchingUp = true;
    whenRead(table, () => failedAt, deps)
      .then(() => {
        isCatchingUp = false;
        keyring.complete();
      })
      // It is stopping.
      .catch(() => {});
  };
  const onAwaited = (error: unknown, at: string) => {
    observer.awaited(error, at);
    catchUp();
  };
  const onBrokenOff = (error: Error) => {
    observer.brokenOff(error);
    // While the brokers are unavailable control creates no subscription, and who makes up refs would wait for keys.
    if (hasCode(error, 'KAFKA_REFUSED')) catchUp();
  };
  const readTopic = async () => {
    const opened = await deps.open(() =>
      readSubscriptionTable({
        openTopic,
        topic,
        read,
        clock: deps.clock,
        onChange,
        onUnreadable,
        onAwaited,
        onBrokenOff,
        onRecreated: () => observer.lost?.(known.size),
      }),
    );
    table = opened;
    await opened.caughtUp(deps.stopping);
    isRead = true;
    tellSealed();
    const absent = [...known.values()].filter(({ ref }) => !opened.get(ref) && !unreadable.has(ref));
    // What the topic had before and has no more was forgotten. What another topic of its name had may be written here yet.
    const id = opened.topicId();
    const isOfThis = ({ topicId }: KnownRecord) => (topicId ?? id) === id;
    for (const { ref } of absent.filter(isOfThis)) onChange(ref, null, id);
    const lost = absent.filter((one) => !isOfThis(one) && one.state !== 'RETIRED').length;
    if (lost > 0) observer.lost?.(lost);
    keyring.complete();
  };
  const topicRead = readTopic();
  // Callers that need the topic await it. If nobody does, a rejection (at the stop) must not end the process.
  topicRead.catch(() => {});
  return {
    keyring,
    topicRead,
    keysKnown: topicRead.catch(() => new Promise<never>(() => {})),
    async stop() {
      if (secrets) await secrets.stop();
      deps.cache?.stop();
      await table?.stop();
    },
  };
}

/** A failure that lasts is told again within this time. */
const FAILS_AGAIN_MS = 12_000;

/** Resolves when everything has been read, and reading has not failed for a while. */
async function whenRead(
  table: Pick<SubscriptionTable, 'caughtUp'>,
  failedAt: () => number,
  { clock, stopping: signal }: Pick<KeyringDeps, 'clock' | 'stopping'>,
): Promise<void> {
  const left = () => failedAt() + FAILS_AGAIN_MS - clock.now();
  do {
    await clock.sleep(left(), { signal, ref: false });
    await table.caughtUp(signal);
  } while (left() > 0);
}

/** Gives the records of the `subscriptions` topic to the keyring, with their secrets opened. */
export function followKeys(deps: {
  keyring: LiveKeyring;
  sealingKeys: SealingKeys | undefined;
  /** No sealing key opens the secrets of a record: they cannot verify its deliveries. */
  onSealed: (record: SubscriptionRecord) => void;
}): (ref: string, record: SubscriptionRecord | null) => void {
  return (ref, record) => {
    let secrets: SubscriptionSecrets | null = null;
    if (record?.sealedKeys) {
      secrets = deps.sealingKeys ? openSecrets(deps.sealingKeys, record, record.sealedKeys) : null;
      if (!secrets) deps.onSealed(record);
    }
    deps.keyring.setRecord(ref, record, secrets);
  };
}
