import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { startSandbox } from '../../../src/sandbox/start-sandbox.ts';
import { readiness } from '../../support/secure/secure-fixture.ts';
import { startTokenRegistry } from '../../support/secure/secure-registry.ts';
import { CLIENT_ID, TokenIssuer } from '../../support/secure/token-issuer.ts';
import {
  PLAIN_PASSWORD,
  PLAIN_USER,
  startTokenKafka,
  type TokenKafka,
} from '../../support/secure/token-kafka.ts';
import { testKafka } from '../../support/topic-reader.ts';
import { Fixture } from '../../support/topics-fixture.ts';
import { until } from '../../support/until.ts';
import { readOrder } from './read-order.ts';
import { type Answers, percentile, SteadyLoad } from './steady-load.ts';

type Env = Record<string, string | undefined>;

const MINUTES = Number(process.env.MINUTES ?? 10);
const PER_SECOND = 500;
const TOKEN_S = 60;
const SESSION_MS = 45_000;
const OUTAGE_MS = 120_000;
const SECRET = 'correct-horse-battery';
const RENEWED = 'renewed-horse-battery';
const keys = { subscriptionId: randomUUID(), signingSecret: randomUUID() };

let issuer: TokenIssuer;
let kafka: TokenKafka;
let registry: Awaited<ReturnType<typeof startTokenRegistry>>;
let fixture: Fixture;
let sandbox: Awaited<ReturnType<typeof startSandbox>>;
let secretFile: string;

beforeAll(async () => {
  issuer = await TokenIssuer.start(SECRET);
  issuer.lifetimeS = TOKEN_S;
  kafka = await startTokenKafka(issuer, { sessionMs: SESSION_MS, isShortLived: false });
  registry = await startTokenRegistry(inject('registryUrl'), issuer);
  sandbox = await startSandbox({ port: 0, retryScheduleS: [] });
  fixture = await Fixture.make({ brokers: kafka.stack.brokers, registryUrl: inject('registryUrl') });
  fixture.secrets('ledger-eu', {
    'subscription-id': keys.subscriptionId,
    'signing-secret': keys.signingSecret,
  });
  secretFile = fixture.file('client-secret', SECRET);
});

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  await sandbox?.stop();
  await registry?.[Symbol.asyncDispose]();
  await kafka?.[Symbol.asyncDispose]();
  await issuer?.[Symbol.asyncDispose]();
});

const byTokens = (): Env => ({
  ...fixture.env,
  LOG_LEVEL: 'info',
  KAFKA_BROKERS: kafka.tokens,
  KAFKA_SASL_MECHANISM: 'OAUTHBEARER',
  KAFKA_OAUTH_TOKEN_URL: issuer.tokenUrl,
  KAFKA_OAUTH_CLIENT_ID: CLIENT_ID,
  KAFKA_OAUTH_CLIENT_SECRET_FILE: secretFile,
  SCHEMA_REGISTRY_URL: registry.url,
  SCHEMA_REGISTRY_OAUTH_TOKEN_URL: issuer.tokenUrl,
  SCHEMA_REGISTRY_OAUTH_CLIENT_ID: CLIENT_ID,
  SCHEMA_REGISTRY_OAUTH_CLIENT_SECRET_FILE: secretFile,
});

const byPassword = (): Env => ({
  ...fixture.env,
  LOG_LEVEL: 'info',
  KAFKA_BROKERS: kafka.plain,
  KAFKA_SASL_MECHANISM: 'PLAIN',
  KAFKA_USERNAME: PLAIN_USER,
  KAFKA_PASSWORD_FILE: fixture.file('password', PLAIN_PASSWORD),
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const p99 = ({ latencies }: Answers) => percentile(latencies, 0.99);

/** A command every two seconds, written past SASL. */
async function sendCommands(until: () => boolean): Promise<string[]> {
  const producer = testKafka({ KAFKA_BROKERS: kafka.stack.brokers.join(',') }).producer();
  await producer.connect();
  const ids: string[] = [];
  while (!until()) {
    const commandId = randomUUID();
    const value = JSON.stringify({ commandId, type: 'subscription.list' });
    await producer.send({
      topic: fixture.topic('commands'),
      acks: -1,
      messages: [{ key: commandId, value }],
    });
    ids.push(commandId);
    await pause(2_000);
  }
  await producer.disconnect();
  return ids;
}

it(
  `sessions that end, and an issuer that is stopped, lose no webhook and no command: ${MINUTES} minutes, ${PER_SECOND} a second`,
  async () => {
    const spool = { SPOOL_DIR: join(fixture.dir, 'spool') };
    const [tokens, plain, control] = await Promise.all([
      fixture.ingress({ ...byTokens(), ...spool }),
      fixture.ingress(byPassword()),
      fixture.control({ provider: sandbox.url, publicUrl: 'http://127.0.0.1:9' }, byTokens()),
    ]);
    const loads = [tokens, plain].map(
      ({ url }, n) =>
        new SteadyLoad({ url: `${url}/webhooks/ledger-eu`, keys, name: n === 0 ? 'tokens' : 'plain' }),
    ) as [SteadyLoad, SteadyLoad];
    for (const load of loads) load.start(PER_SECOND);
    await pause(20_000);
    // What the first seconds compile is not compared.
    for (const load of loads) load.answers.latencies = [];
    let isOver = false;
    const commands = sendCommands(() => isOver);
    await pause(MINUTES * 60_000);
    const [seen, beside] = loads.map(({ answers }) => ({
      ...answers,
      statuses: new Map(answers.statuses),
    })) as [Answers, Answers];
    await loads[1].stop();
    console.log(
      `p50 ${percentile(seen.latencies, 0.5).toFixed(1)} ms by tokens, ${percentile(beside.latencies, 0.5).toFixed(1)} by password; p99 ${p99(seen).toFixed(1)} and ${p99(beside).toFixed(1)}; ${seen.latencies.length} and ${beside.latencies.length} webhooks; ${issuer.requests.length} token requests`,
    );
    expect([...seen.statuses.keys(), ...beside.statuses.keys()]).toEqual([200, 200]);
    expect(p99(seen)).toBeLessThanOrEqual(1.5 * p99(beside));

    // The issuer stops for longer than its tokens live; it comes back with other keys, and demands another secret.
    const admin = await control.adminUrl();
    await issuer.stop();
    const why = /there is no access token \(.*nobody listens there\).*KAFKA_OAUTH_TOKEN_URL/;
    await until('control says why', async () => why.test((await readiness(admin)).reasons), OUTAGE_MS);
    await pause(OUTAGE_MS);
    issuer.secret = RENEWED;
    await issuer.rotateKey({ withdrawn: true });
    await issuer.resume();
    const refused = /gives no access token \(.*status 401, invalid_client\)/;
    await until('control says why', async () => refused.test((await readiness(admin)).reasons), 60_000);
    writeFileSync(secretFile, RENEWED);
    await until('control is ready again', async () => (await readiness(admin)).status === 200, 90_000);
    isOver = true;
    const ids = await commands;
    const answers = await loads[0].stop();
    console.log(
      `${[...answers.sent.values()].reduce((sum, n) => sum + n, 0)} webhooks by tokens, ${ids.length} commands`,
    );
    expect([...answers.statuses.keys()]).toEqual([200]);
    await until(
      'the spool is empty',
      async () => {
        const text = await (await fetch(`${await tokens.process.adminUrl()}/metrics`)).text();
        return /^hookline_spool_deliveries 0$/m.test(text);
      },
      180_000,
    );

    const [broker = ''] = kafka.stack.brokers;
    const stored = await readOrder(broker, fixture.topic('payment-status'));
    for (const [entityId, count] of [...answers.sent, ...loads[1].answers.sent])
      expect(stored.get(entityId), entityId).toEqual(Array.from({ length: count }, (_, n) => n));
    const results = new Set(
      (await fixture.read('command-results', ids.length)).flatMap(({ key, record }) =>
        record?.status === 'SUCCEEDED' ? [key] : [],
      ),
    );
    expect(ids.filter((id) => !results.has(id))).toEqual([]);
    expect(tokens.process.written() + control.written()).not.toMatch(/horse|eyJ/);
  },
  (MINUTES + 15) * 60_000,
);
