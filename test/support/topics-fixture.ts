import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cli } from './cli.ts';
import { RunningProcess } from './running-process.ts';
import { type Reading, readTopic, type SeenRecord } from './topic-reader.ts';

type Env = Record<string, string | undefined>;
type Ended = { readonly exitCode: number; readonly out: string; readonly notes: string };
/** Where Kafka and the registry are. */
export type Brokers = { brokers: readonly string[]; registryUrl: string };

type FixtureOptions = {
  readonly prefix?: string | undefined;
  readonly partitions?: number;
  /** Another version's command line tool. */
  readonly run?: ((env: Env, ...args: string[]) => Promise<Ended>) | undefined;
};

/** Of each topic: more than one, and fewer than Hookline's own 6, which cost a broker a second for each test file. */
export const PARTITIONS = 2;

const SET_UP_TRIES = 3;

/**
 * A place of its own on the shared Kafka: a topic prefix, topics and subjects, and a folder with secrets. Processes are
 * started in it for real, and end with it.
 */
export class Fixture implements AsyncDisposable {
  readonly prefix: string;
  readonly dir = mkdtempSync(join(tmpdir(), 'hookline-'));
  readonly env: Env;
  readonly #processes: RunningProcess[] = [];

  constructor(stack: Brokers, prefix = `t${randomBytes(4).toString('hex')}`) {
    this.prefix = prefix;
    mkdirSync(join(this.dir, 'secrets'));
    this.env = {
      KAFKA_BROKERS: stack.brokers.join(','),
      SCHEMA_REGISTRY_URL: stack.registryUrl,
      MIN_INSYNC_REPLICAS: stack.brokers.length > 1 ? '2' : '1',
      TOPIC_PREFIX: this.prefix,
      SECRETS_DIR: join(this.dir, 'secrets'),
      SEALING_KEY_FILE: this.file('sealing-key', randomBytes(32).toString('hex')),
      ADMIN_HOST: '127.0.0.1',
      ADMIN_PORT: '0',
      INGRESS_HOST: '127.0.0.1',
      INGRESS_PORT: '0',
      LOG_LEVEL: 'debug',
      // Nobody sends here but the test, which knows when it stops.
      STOP_DELAY_MS: '0',
    };
  }

  /** Creates the topics and registers the schemas, as an operator does. */
  static async make(
    stack: Brokers,
    { prefix, partitions = PARTITIONS, run = cli }: FixtureOptions = {},
  ): Promise<Fixture> {
    const fixture = new Fixture(stack, prefix);
    for (const args of [
      ['topics', 'apply', '--partitions', String(partitions)],
      ['schemas', 'push'],
    ]) {
      for (let tries = 1; ; tries++) {
        const { exitCode, notes, out } = await run(fixture.env, ...args);
        if (exitCode === 0) break;
        // A registry that has just started may take longer than the command waits for an answer.
        if (tries === SET_UP_TRIES) throw new Error(`hookline ${args.join(' ')}: ${notes} ${out}`);
      }
    }
    return fixture;
  }

  topic = (name: string) => `${this.prefix}.${name}`;

  file(name: string, text: string): string {
    const path = join(this.dir, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }

  /** Files of SECRETS_DIR for a ref; one value or several lines each. */
  secrets(
    ref: string,
    values: Partial<Record<'subscription-id' | 'signing-secret' | 'encryption-key', string>>,
  ): void {
    mkdirSync(join(this.dir, 'secrets', ref), { recursive: true });
    for (const [name, text] of Object.entries(values))
      writeFileSync(join(this.dir, 'secrets', ref, name), `${text}\n`);
  }

  /** Removes a ref's folder. */
  forget(ref: string): void {
    rmSync(join(this.dir, 'secrets', ref), { recursive: true });
  }

  start(entry: string, env: Env = {}, args: readonly string[] = []): RunningProcess {
    const running = new RunningProcess(entry, { ...this.env, ...env }, args);
    this.#processes.push(running);
    return running;
  }

  /** Starts ingress, and gives its address once it listens. */
  async ingress(env: Env = {}): Promise<{ process: RunningProcess; url: string }> {
    const running = this.start('src/ingress/main.ts', env);
    return { process: running, url: String((await running.logged('listening')).url) };
  }

  /** Starts control against a provider, for an ingress at `publicUrl`. */
  async control(urls: { provider: string; publicUrl: string }, env: Env = {}): Promise<RunningProcess> {
    const running = this.start('src/control/main.ts', { ...this.controlEnv(urls), ...env });
    await running.logged('reading commands');
    return running;
  }

  controlEnv({ provider, publicUrl }: { provider: string; publicUrl: string }): Env {
    return {
      PROVIDER_AUTH_URL: provider,
      PROVIDER_BASE_URL: provider,
      PROVIDER_SCOPE: 'accounts.read transactions.read',
      PROVIDER_JWT_FILE: this.file('jwt', 'sandbox-lite-jwt'),
      PUBLIC_URL: publicUrl,
      CONTROL_GROUP_ID: `${this.prefix}-control`,
    };
  }

  /** Every record of a topic, once there are at least `atLeast`. */
  read(topic: string, atLeast = 1, reading?: Reading): Promise<SeenRecord[]> {
    return readTopic(this.env, this.topic(topic), atLeast, reading);
  }

  /** All that the processes have written. */
  logs(): string {
    return this.#processes.map((one) => one.written()).join('\n');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#processes.map((one) => one.stop()));
    rmSync(this.dir, { recursive: true, force: true });
  }
}
