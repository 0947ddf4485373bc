import { Fault, integer, milliseconds, oneOf, optional, path, setting, text, url } from './env.ts';
import { ALL_ADDRESSES, listenAddress } from './networks.ts';
import { proxySettings } from './proxy.ts';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** What every process of Hookline has: a log and an admin port. */
export const runtimeSettings = {
  logLevel: oneOf('LOG_LEVEL', {
    about: 'lowest severity that is logged; debug adds a line per delivery',
    fallback: 'info',
    values: LOG_LEVELS,
  }),
  adminHost: listenAddress('ADMIN_HOST', {
    about: `address of /livez, /readyz and /metrics; ${ALL_ADDRESSES}`,
    fallback: '::',
  }),
  adminPort: integer('ADMIN_PORT', {
    about: 'port of /livez, /readyz and /metrics; 0 takes a free one',
    fallback: '9464',
    max: 65_535,
  }),
  stopDeadlineMs: milliseconds('STOP_DEADLINE_MS', {
    about: 'longest time from SIGTERM to the exit; work in progress is finished within it',
    fallback: '25000',
    min: 1,
  }),
};

/** OpenTelemetry's own names: an operator sets them for every service alike. */
export const tracingSettings = {
  endpoint: optional(
    url('OTEL_EXPORTER_OTLP_ENDPOINT', {
      about:
        'address of an OpenTelemetry collector (OTLP over HTTP) that receives traces; unset means no tracing',
    }),
  ),
  ratio: setting(
    'OTEL_TRACES_SAMPLER_ARG',
    { about: 'share of the traces begun by Hookline that are kept, from 0 to 1', fallback: '1' },
    (text) => {
      const ratio = Number(text);
      if (!(ratio >= 0 && ratio <= 1))
        throw new Fault(`is ${JSON.stringify(text)}: give a number from 0 to 1.`);
      return ratio;
    },
  ),
  ...proxySettings,
};

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

const GIB = 1024 ** 3;

export const spoolSettings = {
  dir: optional(
    text('SPOOL_DIR', {
      about:
        'directory, on a volume of its own, that stores events while Kafka is unavailable; unset means no spool',
    }),
  ),
  maxBytes: integer('SPOOL_MAX_BYTES', {
    about: 'maximum number of bytes that the spool may use; the volume should have 64 MiB more',
    fallback: String(GIB),
    min: 1024 ** 2,
  }),
};

/** Read by the console and by `hookline verify`. */
export const prometheusSettings = {
  prometheusUrl: optional(
    url('PROMETHEUS_URL', {
      about:
        "address of a Prometheus that has Hookline's metrics: hookline verify compares its counters, and the console takes the plots' last hour and the firing alerts from it; unset means what each has read itself",
    }),
  ),
  prometheusMatch: text('PROMETHEUS_MATCH', {
    about:
      'label matchers that select this installation in PROMETHEUS_URL, such as namespace="payments"; empty means everything named hookline_*',
    fallback: '',
  }),
};

/** Of control; doctor looks into the group too. */
export const controlGroupSetting = text('CONTROL_GROUP_ID', {
  about:
    'consumer group of the control processes: one of them works, the others stand by; give each installation on the same brokers its own',
  fallback: 'hookline-control',
});
