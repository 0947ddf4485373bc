import {
  type EnvReader,
  type EnvSource,
  envReader,
  Fault,
  flag,
  integer,
  list,
  optional,
  path,
  type Setting,
  setting,
  text,
  type ValuesOf,
} from '../config/env.ts';
import { runtimeSettings } from '../config/shared-settings.ts';
import { DEFAULT_DIALECT, type Dialect } from './core/dialect.ts';
import { loadDialect } from './core/load-dialect.ts';
import { DEFAULT_LAYOUT, LAYOUT_SYNTAX, readLayout } from './deliveries/layout.ts';
import type { ReceiverTls } from './deliveries/send-attempt.ts';

type SettingsValues = ValuesOf<typeof sandboxSettings>;
type FileSettings = 'jwtFile' | 'dialectFile' | 'receiverCaFile' | 'clientCertFile' | 'clientKeyFile';

/** Everything that can be said to a sandbox: the settings, with what stands in the files that they name. */
export type SandboxOptions = Omit<SettingsValues, FileSettings> & {
  readonly jwt: string;
  readonly dialect: Dialect;
  readonly tls: ReceiverTls;
};

export type ReadFile = (path: string) => string;

/** Reads the settings and their files. Throws a ConfigError with every fault, those of the dialect's file included. */
export function loadOptions(source: EnvSource, readFile: ReadFile): SandboxOptions {
  const reader = envReader(source);
  const { jwtFile, dialectFile, receiverCaFile, clientCertFile, clientKeyFile, ...values } =
    reader.read(sandboxSettings);
  if ((clientCertFile === undefined) !== (clientKeyFile === undefined)) {
    reader.fault('SANDBOX_CLIENT_CERT_FILE and SANDBOX_CLIENT_KEY_FILE go together: set both or neither.');
  }
  const content = (path: string | undefined) => (path === undefined ? undefined : readFile(path));
  const jwt = content(jwtFile)?.trim() ?? SANDBOX_JWT;
  if (jwt === '') reader.fault('SANDBOX_JWT_FILE names an empty file: write the JWT Bearer token into it.');
  return reader.done({
    ...values,
    jwt,
    dialect: readDialect(content(dialectFile), reader),
    tls: { ca: content(receiverCaFile), cert: content(clientCertFile), key: content(clientKeyFile) },
  });
}

/** What a sandbox has of which nothing was said. */
export const defaultOptions = (): SandboxOptions => loadOptions({ env: {}, fileFault: () => null }, () => '');

function readDialect(text: string | undefined, reader: EnvReader): Dialect {
  if (text === undefined) return DEFAULT_DIALECT;
  const read = loadDialect(text);
  if ('dialect' in read) return read.dialect;
  for (const fault of read.faults) reader.fault(`SANDBOX_DIALECT_FILE: ${fault}.`);
  return DEFAULT_DIALECT;
}

/** The JWT Bearer token that the sandbox accepts unless SANDBOX_JWT_FILE names another. */
const SANDBOX_JWT = 'sandbox-lite-jwt';

const GRANT_TYPE = 'client_credentials';
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
/** The scope values that the interface has seen, 2.2. */
const SCOPES =
  'accounts.create,accounts.read,accounts.update,accounts.close,transactions.read,paymentcamt056.create,' +
  'paymentcamt029.read,paymentpacs002.read,paymentpacs002-id.read,paymentpacs008.create,paymentpacs008.simulate';

/** A list with at least one entry: an empty one would refuse everything. */
function words(name: string, about: string, fallback: string): Setting<readonly string[]> {
  return list(name, { about, fallback }, (word) => word);
}

function seconds(part: string): number {
  const value = Number(part);
  if (/^\d+(\.\d+)?$/.test(part) && value <= 86_400) return value;
  throw new Fault(`has ${JSON.stringify(part)}: give seconds from 0 to 86400, split at commas.`);
}

export const sandboxSettings = {
  logLevel: runtimeSettings.logLevel,
  stopDeadlineMs: runtimeSettings.stopDeadlineMs,
  host: text('SANDBOX_HOST', { about: 'address to listen on', fallback: '127.0.0.1' }),
  port: integer('SANDBOX_PORT', {
    about: 'port to listen on; 0 takes a free one, which the log line "listening" names',
    fallback: '8090',
    max: 65_535,
  }),
  jwtFile: optional(
    path('SANDBOX_JWT_FILE', {
      about: 'file with the predefined JWT Bearer token; unset means sandbox-lite-jwt',
    }),
  ),
  tokenTtlS: integer('SANDBOX_TOKEN_TTL_S', {
    about: 'lifetime of an access token in seconds',
    fallback: '300',
    min: 1,
  }),
  grantTypes: words('SANDBOX_GRANT_TYPES', 'values of grant_type that are accepted', GRANT_TYPE),
  assertionTypes: words(
    'SANDBOX_ASSERTION_TYPES',
    'values of client_assertion_type that are accepted',
    ASSERTION_TYPE,
  ),
  scopes: words('SANDBOX_SCOPES', 'scopes that can be asked for', SCOPES),
  dialectFile: optional(
    path('SANDBOX_DIALECT_FILE', {
      about: 'JSON file with the shapes of the bodies that the interface does not show',
    }),
  ),
  allowHttpReceivers: flag('SANDBOX_ALLOW_HTTP_RECEIVERS', {
    about: 'accept http:// receivers, which the real provider does not; for local use',
    fallback: 'true',
  }),
  // Attempts at 0 s, 1 s, 6 s, 36 s, 2 min 36 s and 12 min 36 s; then the delivery has failed.
  retryScheduleS: list(
    'SANDBOX_RETRY_SCHEDULE',
    { about: 'seconds before each retry of a delivery', fallback: '1,5,30,120,600' },
    seconds,
  ),
  deliveryTimeoutMs: integer('SANDBOX_DELIVERY_TIMEOUT_MS', {
    about: 'longest time from the start of a delivery until its answer',
    fallback: '10000',
    min: 1,
    max: 600_000,
  }),
  deliveryConcurrency: integer('SANDBOX_DELIVERY_CONCURRENCY', {
    about: 'concurrent deliveries for each subscription',
    fallback: '64',
    min: 1,
    max: 10_000,
  }),
  layout: setting(
    'SANDBOX_ENCRYPTION_LAYOUT',
    { about: 'layout of sealed deliveries if a trigger names none', fallback: DEFAULT_LAYOUT },
    (name) => {
      if (!readLayout(name)) throw new Fault(`is ${JSON.stringify(name)}: give ${LAYOUT_SYNTAX}.`);
      return name;
    },
  ),
  replayBearer: flag('SANDBOX_REPLAY_BEARER', {
    about: 'replays carry an Authorization header, as the interface hints',
    fallback: 'true',
  }),
  keepExecutions: integer('SANDBOX_KEEP_EXECUTIONS', {
    about: 'executions kept for replay and inspection',
    fallback: '10000',
    min: 1,
    max: 1_000_000,
  }),
  keepBytes: integer('SANDBOX_KEEP_BYTES', {
    about: 'bytes of bodies that are kept with the executions',
    fallback: '268435456',
    min: 1,
  }),
  receiverCaFile: optional(
    path('SANDBOX_RECEIVER_CA_FILE', { about: 'PEM file with the certificate authority of the receivers' }),
  ),
  clientCertFile: optional(
    path('SANDBOX_CLIENT_CERT_FILE', { about: 'PEM file with the client certificate for mutual TLS' }),
  ),
  clientKeyFile: optional(
    path('SANDBOX_CLIENT_KEY_FILE', { about: "PEM file with the client certificate's key" }),
  ),
};
