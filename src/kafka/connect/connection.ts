import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContext } from 'node:tls';
import { isLoopback } from '../../config/plaintext-credentials.ts';
import {
  certificatesIn,
  credentialsFault,
  type NamedFile,
  passwordIn,
  type RenewalObserver,
  renewedFrom,
} from '../../config/renewed-files.ts';
import { certificateEnd } from '../../crypto/keys.ts';
import type { KafkaSettings } from './settings.ts';

/** How to reach the brokers. What comes from files is asked for with each connection, and is as the files are then. */
export type KafkaConnection = {
  readonly brokers: readonly string[];
  readonly tls: (() => TlsMaterial) | undefined;
  readonly sasl:
    | {
        readonly mechanism: NonNullable<KafkaSettings['saslMechanism']>;
        readonly username: string;
        readonly password: () => string;
      }
    | undefined;
  /** The password would travel without TLS, and that is not allowed: only brokers on this machine may get it. */
  readonly loopbackOnly: boolean;
};

/**
 * Why no connection may be made to a broker. The addresses in KAFKA_BROKERS are checked at the start; which ones the
 * brokers advertise is known only when they are connected to.
 */
export function refusalOf({ loopbackOnly }: KafkaConnection, host: string): Error | undefined {
  if (!loopbackOnly || isLoopback(host)) return undefined;
  return new Error(`the brokers advertise ${host}, and the password would go there without TLS`);
}

export type TlsMaterial = {
  readonly context: SecureContext;
  /** When our client certificate ends; undefined without one. */
  readonly certificateEnds: Date | undefined;
};

export type ConnectionDeps = {
  readonly settings: KafkaSettings;
  readonly files: RenewalObserver;
};

/** @throws HooklineError CREDENTIALS_INVALID where a file can't be used */
export function openConnection(parts: ConnectionDeps): KafkaConnection {
  const { brokers, ssl, saslMechanism: mechanism, username, passwordFile } = parts.settings;
  const { allowPlaintextCredentials } = parts.settings;
  const { files: observer } = parts;
  const read = (path: string) => readFileSync(path);
  const password = (path: string) => {
    const file = { variable: 'KAFKA_PASSWORD_FILE', path };
    return renewedFrom({
      files: [file],
      read,
      make: ([content]) => passwordIn(content as Buffer, file),
      observer,
    });
  };
  return {
    brokers,
    tls: ssl ? renewedFrom({ ...tlsFiles(parts), read, observer }) : undefined,
    sasl:
      mechanism && username !== undefined && passwordFile !== undefined
        ? { mechanism, username, password: password(passwordFile) }
        : undefined,
    loopbackOnly: mechanism !== undefined && !ssl && !allowPlaintextCredentials,
  };
}

function tlsFiles({ settings: { caFile, certFile, keyFile } }: ConnectionDeps) {
  const named = { KAFKA_CA_FILE: caFile, KAFKA_CERT_FILE: certFile, KAFKA_KEY_FILE: keyFile };
  const files: NamedFile[] = Object.entries(named).flatMap(([variable, path]) =>
    path === undefined ? [] : { variable, path },
  );
  const make = (contents: readonly Buffer[]): TlsMaterial => {
    const pem = (variable: keyof typeof named) =>
      contents[files.findIndex((file) => file.variable === variable)];
    const certificates = (variable: keyof typeof named, path = '') => {
      const content = pem(variable);
      return content && certificatesIn(content, { variable, path });
    };
    const [ca, cert, key] = [
      certificates('KAFKA_CA_FILE', caFile),
      certificates('KAFKA_CERT_FILE', certFile),
      pem('KAFKA_KEY_FILE'),
    ];
    try {
      return {
        context: createSecureContext({ ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }),
        certificateEnds: cert && certificateEnd(cert),
      };
    } catch (error) {
      throw credentialsFault(
        { variable: 'KAFKA_CERT_FILE and KAFKA_KEY_FILE', path: `${certFile}, ${keyFile}` },
        `they don't make a client certificate: ${(error as NodeJS.ErrnoException).code ?? 'not PEM'}`,
        'give a certificate in PEM form and its own key, unencrypted',
      );
    }
  };
  return { files, make };
}
