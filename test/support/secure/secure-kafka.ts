import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Listener } from '../../stack/kafka-properties.ts';
import { freePorts } from '../../stack/plan-ports.ts';
import type { Stack } from '../../stack/stack.ts';
import { startStack } from '../../stack/start-stack.ts';
import { type Authority, type Identity, makeAuthority } from './certificates.ts';

export const USER = 'hookline';
export const PASSWORD = 'correct-horse-battery';
/** A user apart, whose password is changed. */
export const CHANGING_USER = 'changing';
const MECHANISMS = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const;
export type Mechanism = (typeof MECHANISMS)[number];

/** After so long a connection with SASL must prove itself anew: a changed password is then asked for. */
const SASL_SESSION_MS = 12_000;

const LISTENERS = {
  /** Demands a client certificate. */
  MTLS: 'SSL',
  SASLTLS: 'SASL_SSL',
  SASL: 'SASL_PLAINTEXT',
  /** Connections that have to prove themselves anew from time to time. */
  SESSIONS: 'SASL_PLAINTEXT',
  /** Advertises a host that is not this one. */
  FARAWAY: 'SASL_PLAINTEXT',
  /** Its certificate has expired. */
  EXPIRED: 'SSL',
  /** Its certificate is for another host. */
  ELSEWHERE: 'SSL',
} as const satisfies Record<string, Listener['protocol']>;

/** Where no test connects to. */
export const FAR_HOST = 'kafka.example.org';

export type ListenerName = keyof typeof LISTENERS;

/** One real broker that demands TLS and SASL in every way, on a port for each; and certificates that fit and don't. */
export type SecureKafka = AsyncDisposable & {
  readonly stack: Stack;
  readonly dir: string;
  readonly authority: Authority;
  readonly stranger: Authority;
  readonly server: Identity;
  readonly client: Identity;
  readonly expiredClient: Identity;
  /** Of the stranger. */
  readonly strangeClient: Identity;
  broker(listener: ListenerName): string;
  speaksTls(listener: ListenerName): boolean;
};

export async function startSecureKafka(): Promise<SecureKafka> {
  const dir = mkdtempSync(join(tmpdir(), 'hookline-secure-'));
  const authority = makeAuthority(dir, 'authority');
  const stranger = makeAuthority(dir, 'stranger');
  const here = 'DNS:localhost,IP:127.0.0.1';
  const server = authority.issue('server', here);
  const certificates: Partial<Record<ListenerName, Identity>> = {
    MTLS: server,
    SASLTLS: server,
    EXPIRED: authority.issue('expired', here, -1),
    ELSEWHERE: authority.issue('elsewhere', 'DNS:kafka.example.org'),
  };
  const names = Object.keys(LISTENERS) as ListenerName[];
  const ports = await freePorts(names.length);
  const listeners = names.map((name, n) => ({
    name,
    port: ports[n] ?? 0,
    protocol: LISTENERS[name],
    ...(name === 'FARAWAY' && { advertisedHost: FAR_HOST }),
  }));
  const properties = {
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.location': authority.caFile,
    'ssl.keystore.type': 'PEM',
    ...under('MTLS', { 'ssl.client.auth': 'required' }),
    ...Object.assign(
      {},
      ...names.map((name) => ({
        ...(certificates[name] && under(name, { 'ssl.keystore.location': certificates[name].bothFile })),
        ...(LISTENERS[name].startsWith('SASL') && under(name, saslProperties())),
      })),
    ),
    ...under('SESSIONS', { 'connections.max.reauth.ms': SASL_SESSION_MS }),
  };
  const scramUsers = [USER, CHANGING_USER].flatMap((name) =>
    (['SCRAM-SHA-256', 'SCRAM-SHA-512'] as const).map((mechanism) => ({
      mechanism,
      name,
      password: PASSWORD,
    })),
  );
  const stack = await startStack({
    env: { ...process.env, HOOKLINE_STACK: 'jvm' },
    withRegistry: false,
    shortLived: true,
    kafka: { listeners, properties, scramUsers },
  });
  return {
    stack,
    dir,
    authority,
    stranger,
    server,
    client: authority.issue('client', here),
    strangeClient: stranger.issue('strange-client', here),
    expiredClient: authority.issue('expired-client', here, -1),
    speaksTls: (name) => LISTENERS[name].endsWith('SSL'),
    broker: (name) => `127.0.0.1:${ports[names.indexOf(name)]}`,
    async [Symbol.asyncDispose]() {
      await stack.stop();
      rmSync(dir, { recursive: true });
    },
  };
}

/** Kafka's prefix for what holds for one listener alone. */
const under = (listener: ListenerName, properties: Record<string, string | number>) =>
  Object.fromEntries(
    Object.entries(properties).map(([name, value]) => [
      `listener.name.${listener.toLowerCase()}.${name}`,
      value,
    ]),
  );

const saslProperties = () => ({
  'sasl.enabled.mechanisms': MECHANISMS.join(','),
  'plain.sasl.jaas.config': `org.apache.kafka.common.security.plain.PlainLoginModule required user_${USER}="${PASSWORD}";`,
  'scram-sha-256.sasl.jaas.config': 'org.apache.kafka.common.security.scram.ScramLoginModule required;',
  'scram-sha-512.sasl.jaas.config': 'org.apache.kafka.common.security.scram.ScramLoginModule required;',
});
