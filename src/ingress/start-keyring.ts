import type { RecordReader } from '../avro/record-reader.ts';
import type { ValuesOf } from '../core/env.ts';
import { newId } from '../crypto/new-id.ts';
import type { SealingKeys } from '../crypto/sealing.ts';
import type { KafkaClient } from '../kafka/kafkajs-client.ts';
import type { Logger } from '../runtime/logger.ts';
import type { StartGate } from '../runtime/start-gate.ts';
import { followKeys } from '../subscriptions/follow-keys.ts';
import { LiveKeyring } from '../subscriptions/live-keyring.ts';
import type { subscriptionSettings } from '../subscriptions/settings.ts';
import { readSubscriptionTable } from '../subscriptions/state-topic.ts';
import { watchSecrets } from '../subscriptions/watch-secrets.ts';

export type KeyringParts = {
  readonly settings: ValuesOf<typeof subscriptionSettings>;
  /** undefined where SEALING_KEY_FILE isn't set: keys then come from SECRETS_DIR alone. */
  readonly sealingKeys: SealingKeys | undefined;
  readonly kafka: KafkaClient;
  /** Full name of the compacted topic. */
  readonly topic: string;
  readonly read: RecordReader;
  readonly logger: Logger;
  readonly gate: StartGate;
  readonly stopping: AbortSignal;
};

/** Fills a keyring from SECRETS_DIR and the `subscriptions` topic, and keeps it so. Resolves when both were read. */
export async function startKeyring(
  parts: KeyringParts,
): Promise<{ keyring: LiveKeyring; stop(): Promise<void> }> {
  const { settings, logger } = parts;
  const keyring = new LiveKeyring({ retiredKeysTtlMs: settings.retiredKeysTtlMs });
  const secrets =
    settings.secretsDir !== undefined &&
    (await watchSecrets({
      dir: settings.secretsDir,
      onChange(ref, dirSecrets) {
        keyring.setDir(ref, dirSecrets);
        logger.info({ ref, present: dirSecrets !== null }, 'secrets read');
      },
      onFault: (ref, err) =>
        logger.error({ ref, err }, 'secrets can not be used, what was read before stays'),
    }));
  const follow = followKeys({
    keyring,
    sealingKeys: parts.sealingKeys,
    onSealed: (ref) =>
      logger.warn({ ref }, 'no key of SEALING_KEY_FILE opens the sealed secrets of this ref'),
  });
  const table = await parts.gate.pass('the subscriptions topic', () =>
    readSubscriptionTable({
      kafka: parts.kafka,
      topic: parts.topic,
      newGroupId: () => `hookline-ingress-${newId()}`,
      read: parts.read,
      onChange: follow,
      onUnreadable: (err, at) =>
        logger.error({ err, at }, 'subscription record can not be read, passed over'),
    }),
  );
  await table.caughtUp(parts.stopping);
  return {
    keyring,
    async stop() {
      if (secrets) await secrets.stop();
      await table.stop();
    },
  };
}
