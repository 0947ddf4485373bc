import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { CLIENT_ID, TokenIssuer } from '../../support/secure/token-issuer.ts';
import { startTokenKafka, type TokenKafka } from '../../support/secure/token-kafka.ts';
import { Fixture } from '../../support/topics-fixture.ts';
import { Night } from './night.ts';
import { bySection } from './runbook.ts';

const NAMESPACE = { namespace: 'identity' };
const SECRET = 'correct-horse-battery';
const SESSION_MS = 20_000;

let issuer: TokenIssuer;
let kafka: TokenKafka;
let fixture: Fixture;
let night: Night;
let env: Record<string, string | undefined>;

beforeAll(async () => {
  issuer = await TokenIssuer.start(SECRET);
  kafka = await startTokenKafka(issuer, { sessionMs: SESSION_MS });
  fixture = await Fixture.make({ brokers: kafka.stack.brokers, registryUrl: inject('registryUrl') });
  night = await Night.begin();
  env = {
    ...fixture.env,
    KAFKA_BROKERS: kafka.tokens,
    KAFKA_SASL_MECHANISM: 'OAUTHBEARER',
    KAFKA_OAUTH_TOKEN_URL: issuer.tokenUrl,
    KAFKA_OAUTH_CLIENT_ID: CLIENT_ID,
    KAFKA_OAUTH_CLIENT_SECRET_FILE: fixture.file('client-secret', SECRET),
  };
  const ingress = await fixture.ingress(env);
  await night.watch('identity', 'ingress', ingress.process);
}, 240_000);

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  await night?.[Symbol.asyncDispose]();
  await kafka?.[Symbol.asyncDispose]();
  await issuer?.[Symbol.asyncDispose]();
});

describe('at night, the token endpoint', () => {
  it('is unavailable, and nothing is restarted when it is back', async () => {
    await issuer.stop();
    await night.fires('HooklineAccessTokenNotRenewed', NAMESPACE);
    const doctor = await night.run('HooklineAccessTokenNotRenewed', 'hookline doctor', env);
    expect(doctor).toMatch(/there is no access token.*nobody listens there/s);
    bySection(
      'HooklineAccessTokenNotRenewed',
      'It recovers by itself within 30 seconds; nothing is restarted.',
    );
    await issuer.resume();
    await night.resolves('HooklineAccessTokenNotRenewed', NAMESPACE);
  });

  it('takes the secret no longer: it is renewed, and read with the next request', async () => {
    issuer.secret = 'renewed-horse-battery';
    await night.fires('HooklineAccessTokenNotRenewed', NAMESPACE);
    const doctor = await night.run('HooklineAccessTokenNotRenewed', 'hookline doctor', env);
    expect(doctor).toMatch(/gives no access token.*invalid_client/s);
    bySection('HooklineAccessTokenNotRenewed', 'A renewed Secret is read with the next request.');
    fixture.file('client-secret', issuer.secret);
    await night.resolves('HooklineAccessTokenNotRenewed', NAMESPACE);
  });
});
