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
  type ValuesOf,
} from '../config/env.ts';
import { misspeltHints } from '../config/misspelt.ts';
import { listenAddress } from '../config/networks.ts';
import { runtimeSettings } from '../config/shared-settings.ts';
import { DEFAULT_DIALECT, type Dialect } from './core/dialect.ts';
import { loadDialect } from './core/load-dialect.ts';
import { DEFAULT_LAYOUT } from './deliveries/layout.ts';
import type { ReceiverTls } from './deliveries/send-attempt.ts';

/** Options that only tests change; the process uses {@link FIXED}. */
export type FixedOptions = {
  /** Longest time from the start of a delivery until its answer, in milliseconds. */
  readonly deliveryTimeoutMs: number;
  /** Concurrent deliveries for each subscription. */
  readonly deliveryConcurrency: number;
  /** Layout of sealed deliveries where a trigger does not name one. */
  readonly layout: string;
  /** Replays carry an Authorization header: the interface says that a token is negotiated if required. */
  readonly replayBearer: boolean;
  /** Executions kept for replay and inspection, and bytes of their bodies. */
  readonly keepExecutions: number;
  readonly keepBytes: number;
  /** How receivers are called over HTTPS. */
  readonly tls: ReceiverTls;
};

/** All options of a sandbox: the settings, with their files' content in place of the paths, and the fixed options. */
export type SandboxOptions = Omit<ValuesOf<typeof sandboxSettings>, 'jwtFile' | 'dialectFile'> &
  FixedOptions & {
    readonly jwt: string;
    readonly dialect: Dialect;
  };

export type ReadFile = (path: string) => string;

/** Reads the settings and their files. Throws a ConfigError with every fault, those of the dialect's file included. */
export function loadOptions(source: EnvSource, readFile: ReadFile): SandboxOptions {
  const reader = envReader(source);
  const { jwtFile, dialectFile, ...values } = reader.read(sandboxSettings);
  const content = (path: string | undefined) => (path === undefined ? undefined : readFile(path));
  const jwt = content(jwtFile)?.trim() ?? SANDBOX_JWT;
  if (jwt === '') reader.fault('SANDBOX_JWT_FILE names an empty file: write the JWT Bearer token into it.');
  return reader.done(
    { ...FIXED, ...values, jwt, dialect: readDialect(content(dialectFile), reader) },
    misspeltHints({ sandbox: sandboxSettings }, source.env),
  );
}

/** The options of a sandbox without any setting. */
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

const FIXED: FixedOptions = {
  deliveryTimeoutMs: 10_000,
  deliveryConcurrency: 64,
  layout: DEFAULT_LAYOUT,
  replayBearer: true,
  keepExecutions: 10_000,
  keepBytes: 256 * 1024 * 1024,
  tls: { ca: undefined, cert: undefined, key: undefined },
};

function seconds(part: string): number {
  const value = Number(part);
  if (/^\d+(\.\d+)?$/.test(part) && value <= 86_400) return value;
  throw new Fault(`has ${JSON.stringify(part)}: give seconds from 0 to 86400, separated by commas.`);
}

export const sandboxSettings = {
  logLevel: runtimeSettings.logLevel,
  stopDeadlineMs: runtimeSettings.stopDeadlineMs,
  host: listenAddress('SANDBOX_HOST', {
    about: 'address to listen on; :: means all addresses',
    fallback: '127.0.0.1',
  }),
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
};
