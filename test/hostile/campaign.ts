import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { SUBSCRIPTION } from '../bench/load/bodies.ts';
import { makeAuthority } from '../support/secure/certificates.ts';
import { asAdmin } from '../support/topic-reader.ts';
import { type Brokers, Fixture } from '../support/topics-fixture.ts';
import type { Attack, Row, Scale } from './attack.ts';
import { CONNECTION_ATTACKS } from './connection-attacks.ts';
import { JSON_ATTACK } from './json/json-attack.ts';
import { RAW_ATTACK } from './raw/raw-attack.ts';
import { attackTarget, runAttack, type Tls } from './run-attack.ts';
import { Target } from './target.ts';

/** In the order in which they are made. */
export const ATTACKS: readonly Attack[] = [...CONNECTION_ATTACKS, RAW_ATTACK, JSON_ATTACK];

/** Topics, keys and a certificate for one campaign over a Kafka and a registry that run for real. */
export class Campaign implements AsyncDisposable {
  readonly #stack: Brokers;
  readonly #scale: Scale;
  readonly #fixture: Fixture;
  readonly #tls: Tls;
  #taken = 0;
  #shared: Target | undefined;

  private constructor(stack: Brokers, scale: Scale, fixture: Fixture) {
    this.#stack = stack;
    this.#scale = scale;
    this.#fixture = fixture;
    this.#tls = makeTls(fixture);
  }

  static async start(stack: Brokers, scale: Scale): Promise<Campaign> {
    return new Campaign(stack, scale, await makeFixture(stack));
  }

  /** An attack on a new ingress. An attack that could not be made is a row with its error. */
  async run(attack: Attack): Promise<Row> {
    const began = performance.now();
    try {
      if (attack.ownTopics) {
        await using fixture = await makeFixture(this.#stack);
        await using _topics = { [Symbol.asyncDispose]: () => deleteTopics(fixture) };
        return await runAttack(attack, { fixture, tls: this.#tls, scale: this.#scale });
      }
      const row = await this.#runOnSharedTopics(attack);
      this.#taken += takenOf(row);
      return row;
    } catch (error) {
      const { name, what } = attack;
      const seconds = (performance.now() - began) / 1_000;
      const problems = [`could not be made: ${(error as Error).message}${causeOf(error)}`];
      return { name, what, honest: null, peakMib: null, note: '', problems, seconds };
    }
  }

  async #runOnSharedTopics(attack: Attack): Promise<Row> {
    const parts = { fixture: this.#fixture, tls: this.#tls, scale: this.#scale };
    if (this.#scale.ownIngress || attack.env || attack.isTls) return runAttack(attack, parts);
    // One that ended under an attack is no target for the next.
    if (this.#shared?.process.exitCode !== null) this.#shared = await Target.start(parts);
    return attackTarget(attack, this.#shared, parts);
  }

  /** Honest webhooks that were answered 200, and events that the topic holds: never fewer than those. */
  async stored(): Promise<{ taken: number; held: number }> {
    return asAdmin(this.#fixture.env, async (admin) => {
      const ends = await admin.fetchTopicOffsets(this.#fixture.topic('payment-status'));
      const held = ends.reduce((sum, { high, low }) => sum + Number(high) - Number(low), 0);
      return { taken: this.#taken, held };
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await deleteTopics(this.#fixture);
    await this.#fixture[Symbol.asyncDispose]();
  }
}

function takenOf({ honest }: Row): number {
  if (honest === null) return 0;
  return Object.values(honest).reduce((sum, { sent, notTaken }) => {
    return sum + sent - Object.values(notTaken).reduce((all, count) => all + count, 0);
  }, 0);
}

async function makeFixture(stack: Brokers): Promise<Fixture> {
  const fixture = await Fixture.make(stack);
  const { ref, subscriptionId, signingSecret, encryptionKey } = SUBSCRIPTION;
  fixture.secrets(ref, {
    'subscription-id': subscriptionId,
    'signing-secret': signingSecret,
    'encryption-key': encryptionKey,
  });
  return fixture;
}

function makeTls(fixture: Fixture): Tls {
  const dir = join(fixture.dir, 'tls');
  mkdirSync(dir);
  const authority = makeAuthority(dir, 'authority');
  const { certFile, keyFile } = authority.issue('ingress', 'DNS:localhost,IP:127.0.0.1');
  return { caFile: authority.caFile, env: { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } };
}

/** A campaign leaves gigabytes otherwise. */
async function deleteTopics({ env, prefix }: Fixture): Promise<void> {
  await asAdmin(env, async (admin) => {
    const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(`${prefix}.`));
    await admin.deleteTopics({ topics });
  });
}

const causeOf = (error: unknown) => {
  const { cause } = error as { cause?: Error };
  return cause === undefined ? '' : ` (${cause.message})`;
};
