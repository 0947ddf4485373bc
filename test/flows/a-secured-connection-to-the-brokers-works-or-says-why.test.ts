import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { loadConfig } from '../../src/cli/shell/connections.ts';
import { nodeSource } from '../../src/config/env.ts';
import { openKafka } from '../../src/kafka/open-kafka.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { cli } from '../support/cli.ts';
import type { Identity } from '../support/secure/certificates.ts';
import { changePassword } from '../support/secure/change-password.ts';
import { findings, readiness, SecureFixture } from '../support/secure/secure-fixture.ts';
import { CHANGING_USER, FAR_HOST, PASSWORD } from '../support/secure/secure-kafka.ts';
import { PARTITIONS } from '../support/topics-fixture.ts';
import { until } from '../support/until.ts';

type Env = Record<string, string | undefined>;

const WRONG = 'wrong-horse-battery';
const SECRETS = new RegExp(`${PASSWORD}|${WRONG}|PRIVATE KEY`);
let secure: SecureFixture;

beforeAll(async () => {
  secure = await SecureFixture.make(inject('registryUrl'));
});

afterAll(() => secure?.[Symbol.asyncDispose]());

/** Each mechanism once, with TLS and without: the two know nothing of each other. */
const WAYS: [string, () => Env][] = [
  ['TLS with a client certificate', () => secure.env('MTLS', secure.certificate())],
  ['TLS and SASL PLAIN', () => secure.env('SASLTLS', secure.sasl('PLAIN'))],
  ['TLS and SASL SCRAM-SHA-512', () => secure.env('SASLTLS', secure.sasl('SCRAM-SHA-512'))],
  ['SASL SCRAM-SHA-256, without TLS', () => secure.env('SASL', secure.sasl('SCRAM-SHA-256'))],
];

/** What is wrong, what is said of it, and the variables that the remedy names. */
type Fault = [string, () => Env, RegExp, string[]];

const FAULTS: Fault[] = [
  [
    'a wrong password',
    () => secure.env('SASLTLS', secure.sasl('SCRAM-SHA-512', undefined, secure.password(WRONG))),
    /refuse Hookline's credentials.*wrong user or password/,
    ['KAFKA_USERNAME', 'KAFKA_PASSWORD_FILE'],
  ],
  [
    'an authority that is not trusted',
    () => secure.env('MTLS', { ...secure.certificate(), KAFKA_CA_FILE: secure.kafka.stranger.caFile }),
    /authority that isn't trusted/,
    ['KAFKA_CA_FILE'],
  ],
  [
    'an unknown host name',
    () => ({ ...secure.env('SASLTLS', secure.sasl('PLAIN')), KAFKA_BROKERS: 'nowhere.invalid:9092' }),
    /host name is unknown/,
    ['KAFKA_BROKERS'],
  ],
  [
    'a password, without TLS, to a broker that advertises another host',
    () => secure.env('FARAWAY', secure.sasl('PLAIN')),
    new RegExp(`advertise ${FAR_HOST}, and the password would go there without TLS`),
    ['KAFKA_SSL to true', 'ALLOW_PLAINTEXT_CREDENTIALS'],
  ],
];

/** Told by the same words, so that the doctor is enough to hear them. */
const FURTHER_FAULTS: Fault[] = [
  ['a certificate of the brokers that has expired', () => secure.env('EXPIRED'), /brokers has expired/, []],
  ["another host's certificate", () => secure.env('ELSEWHERE'), /for other host names/, ['KAFKA_BROKERS']],
  [
    'no TLS on a port with TLS',
    () => secure.env('MTLS', { KAFKA_SSL: undefined, KAFKA_CA_FILE: undefined }),
    /TLS is spoken there, and Hookline doesn't/,
    ['KAFKA_SSL to true'],
  ],
  [
    'TLS on a port without',
    () => ({ ...secure.env('SASLTLS', secure.sasl('PLAIN')), KAFKA_BROKERS: secure.kafka.broker('SASL') }),
    /no TLS is spoken there/,
    ['KAFKA_SSL to false'],
  ],
  [
    'an unknown user',
    () => secure.env('SASL', secure.sasl('PLAIN', 'nobody')),
    /wrong user or password/,
    ['KAFKA_USERNAME'],
  ],
  [
    'a client certificate that has expired',
    () => secure.env('MTLS', secure.certificate(secure.kafka.expiredClient)),
    /Hookline's client certificate ended 20/,
    ['KAFKA_CERT_FILE', 'KAFKA_KEY_FILE'],
  ],
  [
    'a client certificate of another authority',
    () => secure.env('MTLS', secure.certificate(secure.kafka.strangeClient)),
    /refuse Hookline's client certificate/,
    ['KAFKA_CERT_FILE'],
  ],
  [
    'no client certificate where one is demanded',
    () => secure.env('MTLS'),
    /demand a client certificate/,
    ['KAFKA_CERT_FILE', 'KAFKA_KEY_FILE'],
  ],
  [
    'no SASL on a port with it',
    () => secure.env('SASLTLS'),
    /close the connection without a word/,
    ['KAFKA_SASL_MECHANISM'],
  ],
  [
    'SASL on a port without',
    () => secure.env('MTLS', { ...secure.certificate(), ...secure.sasl('PLAIN') }),
    /has no SASL/,
    ['KAFKA_SASL_MECHANISM'],
  ],
];

// Side by side, the one that waits longest first.
describe.concurrent('the way to the brokers', { timeout: 120_000 }, () => {
  describe('files that are renewed', () => {
    it('while ingress waits for the brokers, are taken up: authority, client certificate and key', async () => {
      const { kafka, fixture } = secure;
      const file = (name: string, from: string) => {
        const path = join(fixture.dir, `renewed-${name}`);
        copyFileSync(from, path);
        return path;
      };
      const { stranger, expiredClient, authority, client } = kafka;
      const ca = file('ca', stranger.caFile);
      const cert = file('cert', expiredClient.certFile);
      const key = file('key', expiredClient.keyFile);
      const files = { KAFKA_CA_FILE: ca, KAFKA_CERT_FILE: cert, KAFKA_KEY_FILE: key };
      const ingress = fixture.start('src/ingress/main.ts', secure.env('MTLS', files));
      const admin = await ingress.adminUrl();
      const says = (why: RegExp) =>
        until(`it says ${why}`, async () => why.test((await readiness(admin)).reasons), 20_000);
      await says(/KAFKA_CA_FILE/);
      copyFileSync(authority.caFile, ca);
      await says(/client certificate ended/);
      // For a moment they don't belong together: what was read before stays in force.
      copyFileSync(client.certFile, cert);
      await until(
        'it says that they do not fit',
        () => ingress.written().includes('KEY_VALUES_MISMATCH'),
        20_000,
      );
      copyFileSync(client.keyFile, key);
      const { url } = await ingress.logged('listening', 20_000);
      expect((await secure.post(String(url))).status).toBe(200);
      expect(ingress.written()).not.toContain('PRIVATE KEY');
      await ingress.stop();
    });

    it('are used by the next connection of either client, without a new client', async () => {
      const { kafka, fixture } = secure;
      const certFile = join(fixture.dir, 'next-cert');
      const keyFile = join(fixture.dir, 'next-key');
      const use = (identity: Identity) => {
        copyFileSync(identity.certFile, certFile);
        copyFileSync(identity.keyFile, keyFile);
      };
      use(kafka.expiredClient);
      const env = secure.env('MTLS', { KAFKA_CERT_FILE: certFile, KAFKA_KEY_FILE: keyFile });
      const { client, openSession } = openKafka({
        settings: loadConfig({ source: nodeSource(env) }, 'kafka').kafka,
        files: { renewed() {}, unusable() {} },
        clock: systemClock,
        clientId: 'test',
        log: () => {},
      });
      const session = openSession(0);
      const partitions = () => session.partitionsOf(fixture.topic('payment-status'));
      const admin = client.admin({ retry: { retries: 0 } });
      const topics = async () => {
        await admin.connect();
        return admin.listTopics();
      };
      // In time, beside tests that keep this process busy: a connection may be too slow once.
      const refusal = (what: string, ask: () => Promise<unknown>) =>
        until(`${what} is refused`, async () => {
          const why = await ask().then(String, ({ message }) => String(message));
          return why.includes('certificate ended');
        });
      await refusal('the producer', partitions);
      await refusal('the consumer', topics);
      use(kafka.client);
      expect(await partitions()).toBe(PARTITIONS);
      expect(await topics()).toContain(fixture.topic('payment-status'));
      session.destroy();
      await admin.disconnect();
    });

    it('go to no broker that advertises another host, without TLS: neither client connects to it', async () => {
      const env = secure.env('FARAWAY', secure.sasl('PLAIN'));
      const { client, openSession } = openKafka({
        settings: loadConfig({ source: nodeSource(env) }, 'kafka').kafka,
        files: { renewed() {}, unusable() {} },
        clock: systemClock,
        clientId: 'test',
        log: () => {},
      });
      const refusal = `advertise ${FAR_HOST}, and the password would go there without TLS`;
      const session = openSession(0);
      await expect(session.connect([secure.fixture.topic('payment-status')])).rejects.toThrow(refusal);
      session.destroy();
      const admin = client.admin({ retry: { retries: 0 } });
      const topics = admin.connect().then(() => admin.listTopics());
      await expect(topics).rejects.toMatchObject({
        code: 'PLAINTEXT_CREDENTIALS',
        message: expect.stringContaining(refusal),
      });
      await admin.disconnect();
    });

    it('while all goes well: a password that changes at the brokers and then here stops nothing for good', async () => {
      const { kafka, fixture } = secure;
      const passwordFile = secure.password(PASSWORD);
      const env = secure.env('SESSIONS', secure.sasl('SCRAM-SHA-512', CHANGING_USER, passwordFile));
      // Shorter than the default, for the event that must be refused; a cold broker's first batch takes a second.
      Object.assign(env, { PUBLISH_DEADLINE_MS: '4000' });
      const urls = { provider: 'http://127.0.0.1:9', publicUrl: 'http://127.0.0.1:9' };
      const [{ process: ingress, url }, control] = await Promise.all([
        secure.ingress(env),
        fixture.control(urls, env),
      ]);
      expect((await secure.post(url)).status).toBe(200);
      const [broker = ''] = kafka.stack.brokers;
      await changePassword(broker, CHANGING_USER, 'renewed-horse-battery');
      const admin = await ingress.adminUrl();
      const refused = /wrong user or password.*KAFKA_PASSWORD_FILE/;
      // The brokers ask for the password again when the session of a connection is over.
      await until('readiness says why', async () => refused.test((await readiness(admin)).reasons), 30_000);
      const { err } = await control.logged(
        'commands are not read: the brokers refuse the credentials or a right, trying again',
      );
      expect((await readiness(await control.adminUrl())).reasons).toMatch(refused);
      expect(err).toMatchObject({ code: 'KAFKA_REFUSED', message: expect.stringMatching(refused) });
      expect((await secure.post(url)).status).toBe(503);
      writeFileSync(passwordFile, 'renewed-horse-battery\n');
      await until('it is ready again', async () => (await readiness(admin)).status === 200, 30_000);
      const { entityId, status } = await secure.post(url);
      expect(status).toBe(200);
      expect((await secure.tail(env, entityId)).value.entityId).toBe(entityId);
      await control.logged('commands are read again');
      expect([ingress.exitCode, control.exitCode]).toEqual([null, null]);
      expect(ingress.written() + control.written()).not.toContain('horse-battery');
      await Promise.all([ingress.stop(), control.stop()]);
    });
  });

  describe('over', () => {
    it.each(WAYS)(
      '%s, and a registry with TLS and a password: stored, read back, planned and found in order',
      async (_, way) => {
        const env = way();
        const ingress = await secure.ingress(env);
        const { entityId, ...answer } = await secure.post(ingress.url);
        expect(answer).toMatchObject({ status: 200, text: expect.stringContaining('"stored":"kafka"') });
        expect((await secure.tail(env, entityId)).value.entityId).toBe(entityId);
        const plan = await cli(env, 'topics', 'plan', '--partitions', String(PARTITIONS));
        expect([plan.exitCode, plan.notes]).toEqual([0, expect.any(String)]);
        expect((await findings(env)).filter(({ state }) => state === 'FAULT')).toEqual([]);
        await ingress.process.stop();
      },
    );
  });

  describe('ingress waits and says why, in the log too, with', () => {
    it.each(FAULTS)('%s', async (_, way, finding, remedies) => {
      const ingress = secure.fixture.start('src/ingress/main.ts', way());
      const admin = await ingress.adminUrl();
      await until('readiness says why', async () => finding.test((await readiness(admin)).reasons), 20_000);
      const { reasons } = await readiness(admin);
      const warned = ingress.lines.find(({ level, msg = '' }) => level === 'warn' && finding.test(msg));
      for (const variable of remedies)
        for (const said of [reasons, warned?.msg]) expect(said).toContain(variable);
      expect(ingress.exitCode).toBeNull();
      expect(await ingress.stop()).toBe(0);
      expect(ingress.written()).not.toMatch(SECRETS);
    });
  });

  describe('the doctor names the remedy for', () => {
    it.each([...FAULTS, ...FURTHER_FAULTS])('%s', async (_, way, finding, remedies) => {
      const found = (await findings(way())).find(({ check }) => check === 'brokers');
      expect(found).toMatchObject({ state: 'FAULT', finding: expect.stringMatching(finding) });
      for (const variable of remedies) expect(found?.remedy).toContain(variable);
      expect(JSON.stringify(found)).not.toMatch(SECRETS);
    });
  });
});
