import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import type { KafkaSettings } from './settings.ts';

/** How to reach the brokers, with certificates and password as they are in their files now. */
export type KafkaConnection = {
  readonly brokers: readonly string[];
  readonly tls: ConnectionOptions | undefined;
  readonly sasl:
    | { mechanism: NonNullable<KafkaSettings['saslMechanism']>; username: string; password: string }
    | undefined;
};

/** Reads the files anew: called for each fresh client, so that a renewed certificate or password is taken up. */
export function readConnection(settings: KafkaSettings): KafkaConnection {
  const { saslMechanism: mechanism, username, passwordFile } = settings;
  return {
    brokers: settings.brokers,
    tls: settings.ssl
      ? { ...pem('ca', settings.caFile), ...pem('cert', settings.certFile), ...pem('key', settings.keyFile) }
      : undefined,
    sasl:
      mechanism && username !== undefined && passwordFile !== undefined
        ? { mechanism, username, password: readFileSync(passwordFile, 'utf8').trim() }
        : undefined,
  };
}

const pem = (name: 'ca' | 'cert' | 'key', path: string | undefined) =>
  path === undefined ? {} : { [name]: readFileSync(path) };
