import { createHash, createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { bearerMessage, openSasl, refusalIn } from '../../../src/kafka/connect/sasl.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { kafkaSettingsWith } from '../../support/connection-settings.ts';

describe('the message of OAUTHBEARER', () => {
  it('is that of RFC 7628, 3.1, extensions behind the token', () => {
    expect(bearerMessage('t.o.k', {}).toString('latin1')).toBe('n,,\x01auth=Bearer t.o.k\x01\x01');
    const extensions = { logicalCluster: 'lkc-1', identityPoolId: 'pool-1' };
    expect(bearerMessage('t.o.k', extensions).toString('latin1')).toBe(
      'n,,\x01auth=Bearer t.o.k\x01logicalCluster=lkc-1\x01identityPoolId=pool-1\x01\x01',
    );
  });

  it.each([
    ['', undefined],
    ['{"status":"invalid_token"}', 'invalid_token'],
    [
      '{"status":"insufficient_scope","scope":"kafka","openid-configuration":"https://…"}',
      'insufficient_scope',
    ],
    ['{"status":"<script>"}', 'refused'],
    ['\x01', 'refused'],
  ])('is answered %j: the token is taken only where nothing is said', (answer, refusal) => {
    expect(refusalIn(Buffer.from(answer, 'latin1'))).toBe(refusal);
  });
});

const ACCESS_KEY = 'AKIDEXAMPLE';
const SECRET_KEY = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';

describe('a token of Amazon MSK', () => {
  beforeEach(() => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', ACCESS_KEY);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', SECRET_KEY);
    vi.stubEnv('AWS_SESSION_TOKEN', 'session/of+a=role');
  });
  afterEach(() => vi.unstubAllEnvs());

  const open = () =>
    openSasl(kafkaSettingsWith({ saslMechanism: 'AWS_MSK_IAM', awsRegion: 'eu-central-1' }), {
      clock: systemClock,
      files: { renewed() {}, unusable() {} },
    });

  it('is a presigned kafka-cluster:Connect in base64url, whose Signature Version 4 holds', async () => {
    const sasl = open();
    if (sasl?.mechanism !== 'OAUTHBEARER') expect.fail('no tokens');
    const url = new URL(Buffer.from(await sasl.tokens.get(), 'base64url').toString());
    expect([url.protocol, url.host, url.pathname]).toEqual([
      'https:',
      'kafka.eu-central-1.amazonaws.com',
      '/',
    ]);
    const query = Object.fromEntries(url.searchParams);
    const date = query['X-Amz-Date'] ?? '';
    const scope = `${date.slice(0, 8)}/eu-central-1/kafka-cluster/aws4_request`;
    expect(query).toMatchObject({
      Action: 'kafka-cluster:Connect',
      'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
      'X-Amz-Credential': `${ACCESS_KEY}/${scope}`,
      'X-Amz-Expires': '900',
      'X-Amz-SignedHeaders': 'host',
      'X-Amz-Security-Token': 'session/of+a=role',
    });
    // The signature again, from AWS's description of the algorithm. The user agent is added behind it.
    const { 'X-Amz-Signature': signature, 'User-Agent': _, ...signed } = query;
    const canonicalQuery = Object.entries(signed)
      .map(([name, value]) => `${encode(name)}=${encode(value)}`)
      .sort()
      .join('&');
    const request = ['GET', '/', canonicalQuery, `host:${url.host}`, '', 'host', sha256('')].join('\n');
    const toSign = ['AWS4-HMAC-SHA256', date, scope, sha256(request)].join('\n');
    const key = [date.slice(0, 8), 'eu-central-1', 'kafka-cluster', 'aws4_request'].reduce<string | Buffer>(
      (secret, part) => createHmac('sha256', secret).update(part).digest(),
      `AWS4${SECRET_KEY}`,
    );
    expect(createHmac('sha256', key).update(toSign).digest('hex')).toBe(signature);
  });

  it('that cannot be signed is explained', async () => {
    vi.unstubAllEnvs();
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nowhere');
    vi.stubEnv('AWS_CONFIG_FILE', '/nowhere');
    const sasl = open();
    if (sasl?.mechanism !== 'OAUTHBEARER') expect.fail('no tokens');
    await expect(sasl.tokens.get()).rejects.toMatchObject({
      code: 'ACCESS_TOKEN_UNAVAILABLE',
      remedy: expect.stringContaining('credentials chain'),
    });
  });
});

/** RFC 3986's unreserved characters stay as they are. */
const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
