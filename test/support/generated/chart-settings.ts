import type { Setting } from '../../../src/config/env.ts';
import { consoleConfig } from '../../../src/console/settings/console-config.ts';
import { controlConfig } from '../../../src/control/config.ts';
import { ingressConfig } from '../../../src/ingress/settings.ts';

/**
 * Variables that the chart sets itself, from values of its own: an address it knows, a port that a Service leads to, a
 * file that it mounts. All others go into `ingress.settings`, `control.settings` and `console.settings` by their names.
 */
export const SET_BY_CHART: ReadonlySet<string> = new Set([
  'KAFKA_BROKERS',
  'KAFKA_SSL',
  'KAFKA_CA_FILE',
  'KAFKA_CERT_FILE',
  'KAFKA_KEY_FILE',
  'KAFKA_SASL_MECHANISM',
  'KAFKA_USERNAME',
  'KAFKA_PASSWORD_FILE',
  'KAFKA_OAUTH_TOKEN_URL',
  'KAFKA_OAUTH_CLIENT_ID',
  'KAFKA_OAUTH_CLIENT_SECRET_FILE',
  'KAFKA_OAUTH_SCOPE',
  'KAFKA_OAUTH_CA_FILE',
  'KAFKA_OAUTH_EXTENSIONS',
  'KAFKA_OAUTH_TOKEN_FILE',
  'KAFKA_AWS_REGION',
  'TOPIC_PREFIX',
  'ALLOW_PLAINTEXT_CREDENTIALS',
  'MIN_INSYNC_REPLICAS',
  'HTTPS_PROXY',
  'NO_PROXY',
  'SCHEMA_REGISTRY_URL',
  'SCHEMA_REGISTRY_USERNAME',
  'SCHEMA_REGISTRY_PASSWORD_FILE',
  'SCHEMA_REGISTRY_OAUTH_TOKEN_URL',
  'SCHEMA_REGISTRY_OAUTH_CLIENT_ID',
  'SCHEMA_REGISTRY_OAUTH_CLIENT_SECRET_FILE',
  'SCHEMA_REGISTRY_OAUTH_SCOPE',
  'SCHEMA_REGISTRY_OAUTH_CA_FILE',
  'SCHEMA_REGISTRY_TOKEN_FILE',
  'SCHEMA_REGISTRY_HEADERS',
  'SCHEMA_REGISTRY_CA_FILE',
  'SCHEMA_REGISTRY_CERT_FILE',
  'SCHEMA_REGISTRY_KEY_FILE',
  'ADMIN_PORT',
  'SECRETS_DIR',
  'SEALING_KEY_FILE',
  'INGRESS_PORT',
  'TLS_CERT_FILE',
  'TLS_KEY_FILE',
  'TLS_CLIENT_CA_FILE',
  'SPOOL_DIR',
  'SPOOL_MAX_BYTES',
  'BODY_STORE',
  'BODY_STORE_ENDPOINT',
  'BODY_STORE_REGION',
  'BODY_STORE_CA_FILE',
  'AWS_SHARED_CREDENTIALS_FILE',
  'BODY_STORE_SSE_KMS_KEY_ID',
  'BODY_STORE_DEADLINE_MS',
  'CLAIM_CHECK_BYTES',
  'PROVIDER_AUTH_URL',
  'PROVIDER_BASE_URL',
  'PROVIDER_SCOPE',
  'PROVIDER_JWT_FILE',
  'PROVIDER_JWT_KEY_FILE',
  'PROVIDER_CA_FILE',
  'PROVIDER_CERT_FILE',
  'PROVIDER_KEY_FILE',
  'PROVIDER_DIALECT_FILE',
  'PUBLIC_URL',
  'COMMAND_TOPICS',
  'CONSOLE_HOST',
  'CONSOLE_PORT',
  'CONSOLE_PUBLIC_URL',
  'CONSOLE_TARGETS',
  'CONSOLE_INDEX_DIR',
  'CONSOLE_OIDC_ISSUER',
  'CONSOLE_OIDC_CLIENT_ID',
  'CONSOLE_OIDC_CLIENT_SECRET_FILE',
  'CONSOLE_USER_HEADER',
  'CONSOLE_GROUPS_HEADER',
  'CONSOLE_TRUSTED_PROXIES',
  'CONSOLE_ROLES',
  'PROMETHEUS_URL',
  'PROMETHEUS_MATCH',
]);

/** Every setting of a process, once. */
export function settingsOf(config: object): Setting<unknown>[] {
  const all = Object.values(config).flatMap((group: object) => Object.values(group) as Setting<unknown>[]);
  return [...new Map(all.map((setting) => [setting.name, setting])).values()];
}

/** The chart's values.schema.json with the settings of both processes as they are in the code. */
export function withSettings(schemaText: string): string {
  const schema = JSON.parse(schemaText);
  schema.definitions.ingressSettings = settingsSchema(ingressConfig);
  schema.definitions.controlSettings = settingsSchema(controlConfig);
  schema.definitions.consoleSettings = settingsSchema(consoleConfig('{TOPIC_PREFIX}'));
  return `${JSON.stringify(schema, null, 2)}\n`;
}

/** A name that isn't there is refused by Helm, which names it. */
function settingsSchema(config: object) {
  const free = settingsOf(config).filter(({ name }) => !SET_BY_CHART.has(name));
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(
      free.map(({ name, about, fallback }) => [
        name,
        {
          type: ['string', 'number', 'boolean'],
          description: fallback ? `${about}; by default ${fallback}` : about,
        },
      ]),
    ),
  };
}
