import type { RecordReader } from '../avro/record-reader.ts';
import type { ValuesOf } from '../config/env.ts';
import type { subscriptionSettings } from '../config/shared-settings.ts';
import { newId } from '../crypto/ids.ts';
import type { SealingKeys } from '../crypto/sealing.ts';
import type { KafkaClient } from '../kafka/connect/kafkajs-client.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { StartGate } from '../runtime/process-shell.ts';
import type { KeptRecords } from '../subscriptions/cached-records.ts';
import type { LiveKeyring } from '../subscriptions/keyring.ts';
import { type OpenKeyring, openKeyring } from '../subscriptions/open-keyring.ts';

export type StartKeyringParts = {
  readonly settings: ValuesOf<typeof subscriptionSettings>;
  /** undefined where SEALING_KEY_FILE isn't set: keys then come from SECRETS_DIR alone. */
  readonly sealingKeys: SealingKeys | undefined;
  readonly kafka: KafkaClient;
  /** Full name of the compacted topic. */
  readonly topic: string;
  readonly read: RecordReader;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly gate: StartGate;
  readonly stopping: AbortSignal;
  readonly kept?: KeptRecords;
};

/** The keys that ingress verifies and opens with. What happens to keys is logged, how many are live is counted. */
export async function startKeyring({
  settings,
  logger,
  metrics,
  gate,
  ...parts
}: StartKeyringParts): Promise<OpenKeyring> {
  const open = await openKeyring({
    ...parts,
    secretsDir: settings.secretsDir,
    retiredKeysTtlMs: settings.retiredKeysTtlMs,
    newGroupId: () => `hookline-ingress-${newId()}`,
    open: (attempt) => gate.pass('the subscriptions topic', attempt),
    observer: {
      secretsRead: (ref, present) => logger.info({ ref, present }, 'secrets read'),
      secretsFaulty: (ref, err) =>
        logger.error({ ref, err }, 'secrets can not be used, what was read before stays'),
      sealed: (ref) =>
        logger.warn({ ref }, 'no key of SEALING_KEY_FILE opens the sealed secrets of this ref'),
      unreadable: (err, at) => logger.error({ err, at }, 'subscription record can not be read, passed over'),
      awaited: (err, at) => logger.warn({ err, at }, 'subscription record waits for the schema registry'),
      brokenOff: (err) => logger.warn({ err, topic: parts.topic }, 'the topic can not be read, tried again'),
    },
  });
  observeKeys(metrics, open.keyring);
  return open;
}

/** Tells before each scrape how many keys of each ref are live. */
function observeKeys(metrics: Metrics, keyring: LiveKeyring): void {
  metrics.samplers.add(() => {
    metrics.keysLive.reset();
    for (const ref of keyring.refs()) {
      // Decoys, by which a refusal takes the same time for every ref, are nobody's keys.
      const signing = keyring.signingKeysOf(ref).filter(({ place }) => place >= 0);
      metrics.keysLive.set({ ref, use: 'signing' }, signing.length);
      metrics.keysLive.set({ ref, use: 'encryption' }, keyring.encryptionKeysOf(ref).length);
    }
  });
}
