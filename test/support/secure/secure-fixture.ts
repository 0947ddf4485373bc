import { randomUUID } from 'node:crypto';
import { cli } from '../cli.ts';
import { postSigned } from '../sign.ts';
import { Fixture } from '../topics-fixture.ts';
import {
  type ListenerName,
  type Mechanism,
  PASSWORD,
  type SecureKafka,
  startSecureKafka,
  USER,
} from './secure-kafka.ts';
import { type SecureRegistry, startSecureRegistry } from './secure-registry.ts';

type Env = Record<string, string | undefined>;

const REF = 'ledger-eu';
const START_MS = 90_000;

/** Brokers and a registry that demand credentials, with topics and schemas there, and a subscription's keys. */
export class SecureFixture implements AsyncDisposable {
  readonly kafka: SecureKafka;
  readonly registry: SecureRegistry;
  readonly fixture: Fixture;
  readonly keys = { subscriptionId: randomUUID(), signingSecret: randomUUID() };

  private constructor(kafka: SecureKafka, registry: SecureRegistry, fixture: Fixture) {
    this.kafka = kafka;
    this.registry = registry;
    this.fixture = fixture;
  }

  static async make(registryUrl: string): Promise<SecureFixture> {
    const kafka = await startSecureKafka();
    const registry = await startSecureRegistry(registryUrl, kafka.server);
    registry.allow(USER, PASSWORD);
    const fixture = await Fixture.make({ brokers: kafka.stack.brokers, registryUrl });
    // The first consumer of a new cluster waits until it has a place for groups: here, not in five tests at once.
    await fixture.read('subscriptions', 0);
    const secure = new SecureFixture(kafka, registry, fixture);
    const { subscriptionId, signingSecret } = secure.keys;
    fixture.secrets(REF, { 'subscription-id': subscriptionId, 'signing-secret': signingSecret });
    Object.assign(fixture.env, secure.registryEnv());
    return secure;
  }

  /** A file with a password of its own for each caller. */
  password(text: string): string {
    return this.fixture.file(`password-${randomUUID()}`, `${text}\n`);
  }

  /** What leads to a listener; `env` adds to it or replaces it. */
  env(listener: ListenerName, env: Env = {}): Env {
    const { caFile } = this.kafka.authority;
    const tls = this.kafka.speaksTls(listener) ? { KAFKA_SSL: 'true', KAFKA_CA_FILE: caFile } : {};
    return { ...this.fixture.env, KAFKA_BROKERS: this.kafka.broker(listener), ...tls, ...env };
  }

  sasl(mechanism: Mechanism, username = USER, passwordFile = this.password(PASSWORD)): Env {
    return { KAFKA_SASL_MECHANISM: mechanism, KAFKA_USERNAME: username, KAFKA_PASSWORD_FILE: passwordFile };
  }

  certificate({ certFile, keyFile } = this.kafka.client): Env {
    return { KAFKA_CERT_FILE: certFile, KAFKA_KEY_FILE: keyFile };
  }

  registryEnv(): Env {
    return {
      SCHEMA_REGISTRY_URL: this.registry.url,
      SCHEMA_REGISTRY_USERNAME: USER,
      SCHEMA_REGISTRY_PASSWORD_FILE: this.password(PASSWORD),
      SCHEMA_REGISTRY_CA_FILE: this.kafka.authority.caFile,
    };
  }

  /** Starts ingress, and gives its address once it listens: late where several are started on a busy machine. */
  async ingress(env: Env) {
    const process = this.fixture.start('src/ingress/main.ts', env);
    return { process, url: String((await process.logged('listening', START_MS)).url) };
  }

  /** Posts an event of a new entity to an ingress, and gives its answer. */
  async post(ingressUrl: string, entityId: string = randomUUID()) {
    const body = JSON.stringify({ type: 'payment-status', entityId });
    return { entityId, ...(await postSigned(`${ingressUrl}/webhooks/${REF}`, this.keys, body)) };
  }

  /** The entity's first record, read by `hookline tail`. */
  async tail(env: Env, entityId: string) {
    const options = ['--from-beginning', '--limit', '1', '--key', entityId, '--json'];
    const { exitCode, out, notes } = await cli(env, 'tail', 'payment-status', ...options);
    if (exitCode !== 0) throw new Error(notes);
    return JSON.parse(out) as { value: { entityId: string } };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fixture[Symbol.asyncDispose]();
    await this.registry[Symbol.asyncDispose]();
    await this.kafka[Symbol.asyncDispose]();
  }
}

export type Finding = { check: string; state: string; finding: string; remedy: string };

/** What `hookline doctor` finds. */
export async function findings(env: Env): Promise<Finding[]> {
  return JSON.parse((await cli(env, 'doctor', '--json')).out);
}

export async function readiness(adminUrl: string) {
  const response = await fetch(`${adminUrl}/readyz`);
  const { reasons } = (await response.json()) as { reasons: Record<string, string> };
  return { status: response.status, reasons: Object.values(reasons).join(' ') };
}
