/**
 * Redpanda Connect as a receiver of webhooks: it verifies the HMAC over the raw body, opens sealed bodies, encodes Avro in the
 * registry's wire format, and answers 200 when all in-sync replicas have the record. It takes this process's place, so
 * that its CPU is that of the process. REDPANDA_CONNECT names the program; an argument `batched` has it collect records for 5 ms.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { configOf, EVENT_SCHEMA } from './config.ts';

const env = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
};
const secret = (file: string) => readFileSync(join(env('SECRETS_DIR'), env('REF'), file), 'utf8').trim();

const registryUrl = env('SCHEMA_REGISTRY_URL');
const subject = `${env('TOPIC_PREFIX')}.redpanda-value`;
const registered = await fetch(`${registryUrl}/subjects/${subject}/versions`, {
  method: 'POST',
  headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
  body: JSON.stringify({ schema: JSON.stringify(EVENT_SCHEMA) }),
});
if (!registered.ok) throw new Error(`the registry answers ${registered.status}: ${await registered.text()}`);

const port = env('INGRESS_PORT');
const config = configOf({
  address: `127.0.0.1:${port}`,
  path: `/webhooks/${env('REF')}`,
  hmacKey: secret('subscription-id') + secret('signing-secret'),
  encryptionKey: secret('encryption-key'),
  brokers: env('KAFKA_BROKERS').split(','),
  topic: `${env('TOPIC_PREFIX')}.payment-status`,
  registryUrl,
  subject,
  isBatched: process.argv.includes('batched'),
});
const file = join(dirname(env('SECRETS_DIR')), 'redpanda-connect.json');
writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
// Who waits for this line waits for the port too.
process.stdout.write(`${JSON.stringify({ msg: 'listening', url: `http://127.0.0.1:${port}` })}\n`);
const program = env('REDPANDA_CONNECT');
process.execve?.(program, [program, 'run', file], { PATH: env('PATH') });
