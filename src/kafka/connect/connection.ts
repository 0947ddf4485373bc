import { readFileSync } from 'node:fs';
import { isLoopback } from '../../config/plaintext-credentials.ts';
import { renewedFrom } from '../../config/renewed-files.ts';
import { named, namedFiles, presentIn, type TlsMaterial, tlsMaterial } from '../../runtime/tls-files.ts';
import type { TokenDeps } from '../../tokens/open-tokens.ts';
import type { TokenSource } from '../../tokens/token-source.ts';
import { openSasl, type Sasl } from './sasl.ts';
import type { KafkaSettings } from './settings.ts';

/** How to reach the brokers. What comes from files is asked for with each connection, and is as the files are then. */
export type KafkaConnection = {
  readonly brokers: readonly string[];
  readonly tls: (() => TlsMaterial) | undefined;
  readonly sasl: Sasl | undefined;
  /** Password or token would travel without TLS, and that is not allowed: only brokers on this machine may get it. */
  readonly loopbackOnly: boolean;
};

/**
 * Why no connection may be made to a broker. The addresses in KAFKA_BROKERS are checked at the start; which ones the
 * brokers advertise is known only when they are connected to.
 */
export function refusalOf({ loopbackOnly, sasl }: KafkaConnection, host: string): Error | undefined {
  if (!loopbackOnly || isLoopback(host)) return undefined;
  const what = sasl?.mechanism === 'OAUTHBEARER' ? 'a token' : 'the password';
  return new Error(`the brokers advertise ${host}, and ${what} would go there without TLS`);
}

export type ConnectionDeps = TokenDeps & {
  readonly settings: KafkaSettings;
  /** Where tokens come from, instead of where the settings say. */
  readonly tokens?: TokenSource;
};

/** @throws HooklineError CREDENTIALS_INVALID where a file can't be used */
export function openConnection(deps: ConnectionDeps): KafkaConnection {
  const { settings, files, tokens } = deps;
  const { brokers, ssl, saslMechanism, allowPlaintextCredentials } = settings;
  const tls = {
    ca: named('KAFKA_CA_FILE', settings.caFile),
    cert: named('KAFKA_CERT_FILE', settings.certFile),
    key: named('KAFKA_KEY_FILE', settings.keyFile),
  };
  const material = () => {
    const current = renewedFrom({
      files: namedFiles(tls),
      read: (path) => readFileSync(path),
      make: (contents) => tlsMaterial(tls, contents),
      observer: files,
    });
    presentIn(files, tls, current);
    return current;
  };
  return {
    brokers,
    tls: ssl ? material() : undefined,
    sasl: openSasl(settings, deps, tokens),
    loopbackOnly: saslMechanism !== undefined && !ssl && !allowPlaintextCredentials,
  };
}
