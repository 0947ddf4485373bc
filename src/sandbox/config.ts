import { type EnvReader, type EnvSource, envReader, type ValuesOf } from '../config/env.ts';
import { DEFAULT_DIALECT, type Dialect } from './core/dialect.ts';
import { loadDialect } from './core/load-dialect.ts';
import type { ReceiverTls } from './deliveries/open-receiver-client.ts';
import { SANDBOX_JWT, sandboxSettings } from './sandbox-settings.ts';

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
