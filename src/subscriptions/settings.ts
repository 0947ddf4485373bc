import { integer, optional, path } from '../config/env.ts';

/** Where the keys of subscriptions come from, and how long a deleted one's stay live. */
export const subscriptionSettings = {
  secretsDir: optional(
    path('SECRETS_DIR', {
      about:
        'directory with {ref}/subscription-id, signing-secret and encryption-key: one value per line, the current one first',
    }),
  ),
  sealingKeyFile: optional(
    path('SEALING_KEY_FILE', {
      about:
        'file with the key that seals subscription secrets in Kafka and rows of the spool: 32 bytes as hex, base64 or text; one per line',
    }),
  ),
  retiredKeysTtlMs: integer('RETIRED_KEYS_TTL_MS', {
    about: "how long a deleted subscription's keys still verify deliveries that were in progress",
    fallback: String(24 * 60 * 60 * 1_000),
  }),
};
