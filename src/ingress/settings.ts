import { checkRegistrySettings, registrySettings, schemaSettings } from '../avro/registry-settings.ts';
import {
  type EnvSource,
  envReader,
  integer,
  list,
  milliseconds,
  optional,
  path,
  readGroups,
} from '../config/env.ts';
import { misspeltHints } from '../config/misspelt.ts';
import { ALL_ADDRESSES, listenAddress, parseCidr } from '../config/networks.ts';
import {
  runtimeSettings,
  spoolSettings,
  subscriptionSettings,
  tracingSettings,
} from '../config/shared-settings.ts';
import { layoutSetting } from '../crypto/layout.ts';
import {
  checkKafkaSettings,
  durabilitySettings,
  kafkaSettings,
  topicSettings,
} from '../kafka/connect/settings.ts';
import { bodyStoreSettings, checkBodyStoreSettings } from '../object-store/settings.ts';
import { minBudget } from './body/memory-shares.ts';

const MIB = 1024 * 1024;
/** Far above what a machine has, and below what V8 can map in one piece: see BodyArena. */
const MAX_BUDGET_BYTES = 1024 ** 4;

export const ingressSettings = {
  host: listenAddress('INGRESS_HOST', {
    about: `address on which webhooks are received; ${ALL_ADDRESSES}`,
    fallback: '::',
  }),
  port: integer('INGRESS_PORT', {
    about: 'port on which webhooks are received; 0 takes a free one',
    fallback: '8080',
    max: 65_535,
  }),
  tlsCertFile: optional(
    path('TLS_CERT_FILE', { about: 'PEM file with the certificate for HTTPS; read again when it changes' }),
  ),
  tlsKeyFile: optional(path('TLS_KEY_FILE', { about: "PEM file with that certificate's key" })),
  tlsClientCaFile: optional(
    path('TLS_CLIENT_CA_FILE', {
      about:
        'PEM file with the certificate authority of clients; if set, clients must present a certificate (mutual TLS)',
    }),
  ),
  maxBodyBytes: integer('MAX_BODY_BYTES', {
    about: 'largest body that is accepted',
    fallback: String(50 * MIB),
    min: 1,
  }),
  memoryBudgetBytes: integer('MEMORY_BUDGET_BYTES', {
    about:
      'memory for bodies in progress, including everything that is made from them; the process needs up to 320 MiB more',
    fallback: String(944 * MIB),
    min: 1,
    max: MAX_BUDGET_BYTES,
  }),
  admissionWaitMs: milliseconds('ADMISSION_WAIT_MS', {
    about: 'longest time that a body waits unread for memory before it is answered 503',
    fallback: '10000',
  }),
  requestTimeoutMs: milliseconds('REQUEST_TIMEOUT_MS', {
    about: 'longest time from the first byte of a request to the last byte of its body',
    fallback: '60000',
    min: 1,
  }),
  stopDelayMs: milliseconds('STOP_DELAY_MS', {
    about:
      'how long webhooks are still accepted after SIGTERM, while readiness says no, so that load balancers can deregister the process',
    fallback: '3000',
  }),
  allowedSources: list(
    'ALLOWED_SOURCES',
    { about: 'CIDR ranges that webhooks may come from; empty means any', fallback: '' },
    parseCidr,
  ),
  trustedProxies: list(
    'TRUSTED_PROXIES',
    { about: 'CIDR ranges of proxies whose X-Forwarded-For is trusted; empty means none', fallback: '' },
    parseCidr,
  ),
  maxConnections: integer('MAX_CONNECTIONS', {
    about:
      'maximum number of connections; at this number a new one closes one of the longest open of those that never delivered a verified webhook, a silent one first',
    fallback: '10000',
    min: 1,
  }),
  maxConnectionsPerSource: optional(
    integer('MAX_CONNECTIONS_PER_SOURCE', {
      about:
        'maximum number of connections from one address; with TRUSTED_PROXIES, of requests in progress per forwarded address; IPv6 addresses of one /64 count as one; unset means no such limit',
      min: 1,
    }),
  ),
  layout: layoutSetting,
  publishDeadlineMs: optional(
    milliseconds('PUBLISH_DEADLINE_MS', {
      about:
        'longest time that an event waits for the confirmation of the brokers; unset means 15000, and 2000 with a spool',
      min: 1,
    }),
  ),
};

/** Every group of settings that ingress reads; the table in docs/configuration.md is generated from it. */
export const ingressConfig = {
  kafka: kafkaSettings,
  durability: durabilitySettings,
  topics: topicSettings,
  registry: registrySettings,
  schemas: schemaSettings,
  runtime: runtimeSettings,
  subscriptions: subscriptionSettings,
  ingress: ingressSettings,
  spool: spoolSettings,
  bodyStore: bodyStoreSettings,
  tracing: tracingSettings,
};

export type IngressConfig = ReturnType<typeof loadIngressConfig>;

/** @throws ConfigError with every fault at once */
export function loadIngressConfig(source: EnvSource) {
  const reader = envReader(source);
  const config = readGroups(reader, ingressConfig);
  checkKafkaSettings(config.kafka, reader);
  checkRegistrySettings(config.registry, reader);
  checkBodyStoreSettings(config.bodyStore, reader);
  const { tlsCertFile, tlsKeyFile, tlsClientCaFile, memoryBudgetBytes, maxBodyBytes } = config.ingress;
  if (memoryBudgetBytes < minBudget(maxBodyBytes)) {
    reader.fault(
      `MEMORY_BUDGET_BYTES is ${memoryBudgetBytes}: bodies of MAX_BODY_BYTES (${maxBodyBytes}) need at least ${minBudget(maxBodyBytes)}.`,
    );
  }
  if ((tlsCertFile === undefined) !== (tlsKeyFile === undefined)) {
    reader.fault('TLS_CERT_FILE and TLS_KEY_FILE go together: set both or none.', [
      'TLS_CERT_FILE',
      'TLS_KEY_FILE',
    ]);
  }
  if (tlsClientCaFile !== undefined && tlsCertFile === undefined) {
    reader.fault('TLS_CLIENT_CA_FILE needs HTTPS: set TLS_CERT_FILE and TLS_KEY_FILE.', ['TLS_CERT_FILE']);
  }
  const { stopDelayMs } = config.ingress;
  const { stopDeadlineMs } = config.runtime;
  if (stopDelayMs >= stopDeadlineMs) {
    reader.fault(
      `STOP_DELAY_MS is ${stopDelayMs}: give less than STOP_DEADLINE_MS (${stopDeadlineMs}), or every stop cuts requests in progress.`,
    );
  }
  const { secretsDir, sealingKeyFile } = config.subscriptions;
  if (secretsDir === undefined && sealingKeyFile === undefined) {
    reader.fault(
      'SECRETS_DIR and SEALING_KEY_FILE are both unset: no webhook could be verified. Set one of them.',
      ['SECRETS_DIR', 'SEALING_KEY_FILE'],
    );
  }
  return reader.done(config, misspeltHints(ingressConfig, source.env));
}
