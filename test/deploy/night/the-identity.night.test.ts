import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { makeAuthority } from '../../support/secure/certificates.ts';
import { CLIENT_ID, TokenIssuer } from '../../support/secure/token-issuer.ts';
import { startTokenKafka, type TokenKafka } from '../../support/secure/token-kafka.ts';
import { Fixture } from '../../support/topics-fixture.ts';
import { Night } from './night.ts';
import { bySection } from './runbook.ts';

const NAMESPACE = { namespace: 'identity' };
const SECRET = 'correct-horse-battery';
const SESSION_MS = 20_000;

const dir = mkdtempSync(join(tmpdir(), 'hookline-night-'));
const authority = makeAuthority(dir, 'authority');
const TLS_CERT_FILE = join(dir, 'tls.crt');
const TLS_KEY_FILE = join(dir, 'tls.key');

/** As a Secret is replaced that the pod has mounted. */
function useCertificate(name: string, days?: number): void {
  const { certFile, keyFile } = authority.issue(name, 'IP:127.0.0.1', days);
  copyFileSync(certFile, TLS_CERT_FILE);
  copyFileSync(keyFile, TLS_KEY_FILE);
}

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
    TLS_CERT_FILE,
    TLS_KEY_FILE,
  };
  useCertificate('first');
  const ingress = await fixture.ingress(env);
  await night.watch('identity', 'ingress', ingress.process);
}, 240_000);

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  await night?.[Symbol.asyncDispose]();
  await kafka?.[Symbol.asyncDispose]();
  await issuer?.[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true });
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

describe('at night, the certificate of ingress', () => {
  const labels = { ...NAMESPACE, process: 'ingress', file: 'TLS_CERT_FILE' };

  it('has expired: it is issued anew, and taken without a restart', async () => {
    useCertificate('expired', -1);
    await night.fires('HooklineCertificateNotRenewed', labels);
    await night.fires('HooklineCertificateExpires', labels);
    bySection('HooklineCertificateExpires', '**Do** as there, now.');
    bySection('HooklineCertificateNotRenewed', 'have the certificate issued anew');
    bySection('HooklineCertificateNotRenewed', 'nothing is restarted');
    useCertificate('renewed');
    await night.resolves('HooklineCertificateExpires', labels);
    await night.resolves('HooklineCertificateNotRenewed', labels);
  });
});
