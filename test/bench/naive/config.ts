import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export type Secret = { readonly signingKey: string; readonly encryptionKey: Buffer };

/** The environment that Hookline's ingress gets, as far as this one needs it. */
export function readConfig(env: NodeJS.ProcessEnv) {
  const need = (name: string) => {
    const value = env[name];
    if (value === undefined) throw new Error(`${name} is not set`);
    return value;
  };
  return {
    brokers: need('KAFKA_BROKERS').split(','),
    registryUrl: need('SCHEMA_REGISTRY_URL'),
    topicPrefix: need('TOPIC_PREFIX'),
    secrets: readSecrets(need('SECRETS_DIR')),
    host: need('INGRESS_HOST'),
    port: Number(need('INGRESS_PORT')),
    /** kafkajs' own choice of guarantees: idempotent, or acks from all replicas without it. */
    idempotent: env.NAIVE_IDEMPOTENT !== 'false',
  };
}

function readSecrets(dir: string): Map<string, Secret> {
  const read = (ref: string, name: string) => readFileSync(join(dir, ref, name), 'utf8').trim();
  return new Map(
    readdirSync(dir).map((ref) => {
      const signingKey = read(ref, 'subscription-id') + read(ref, 'signing-secret');
      return [ref, { signingKey, encryptionKey: Buffer.from(read(ref, 'encryption-key')) }];
    }),
  );
}
