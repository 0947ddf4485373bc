import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { exchange } from '../support/ingress-app.ts';
import { ReceiverFixture, receiptOf } from '../support/receiver-fixture.ts';
import { postSigned, signatureOf } from '../support/sign.ts';
import { setTopicBytes } from '../support/topic-config.ts';
import { topicOffsets } from '../support/topic-offsets.ts';
import { asAdmin } from '../support/topic-reader.ts';

/** Each row of docs/acknowledgement.md, over a real Kafka; the rows without Kafka have files of their own. */
let receiver: ReceiverFixture;
let url: string;

beforeAll(async () => {
  const stack = inject('stack');
  receiver = await ReceiverFixture.make(stack, { MAX_BODY_BYTES: '3000000', REQUEST_TIMEOUT_MS: '1500' });
  url = `${receiver.ingress.url}/webhooks/ledger-eu`;
});

afterAll(() => receiver[Symbol.asyncDispose]());

/** How many records all topics of the fixture hold: what is nowhere changes it not. */
async function countRecords(): Promise<number> {
  const { env, prefix } = receiver.fixture;
  const offsets = await asAdmin(env, async (admin) => {
    const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(`${prefix}.`));
    return topicOffsets(admin, topics);
  });
  return [...offsets.values()].flat().reduce((sum, { high }) => sum + Number(high), 0);
}

const post = (body: string | Buffer, headers: Record<string, string | undefined> = {}) =>
  postSigned(url, receiver, body, headers);

async function deadLetterOf(eventId: string) {
  const deadLetters = (await receiver.fixture.read('dead-letter')).filter(({ key }) => key === eventId);
  return deadLetters.length > 0 ? deadLetters : expect.fail(`no dead-letter record ${eventId}`);
}

const sentIn = (executionId: string) =>
  receiver.call('GET', `/_sandbox/executions/${executionId}`) as Promise<{ bodyBase64: string }>;

/** One in 128 sealed bodies begins so: where no key opens it, it is taken for malformed JSON. */
const looksLikeJson = (bodyBase64: string) =>
  /^\s*[{[]/.test(Buffer.from(bodyBase64, 'base64').toString('latin1'));

describe('the acknowledgement contract', () => {
  it('all in-sync replicas have it: 200, stored kafka, in its topic', async () => {
    const execution = await receiver.trigger1({ event: 'payment-status' });
    expect([execution.status, receiptOf(execution)]).toEqual([
      200,
      { eventId: expect.any(String), stored: 'kafka' },
    ]);
    const records = await receiver.fixture.read('payment-status');
    expect(records.some(({ record }) => record?.eventId === receiptOf(execution).eventId)).toBe(true);
  });

  it('valid signature, unknown type: 200, in unclassified', async () => {
    const execution = await receiver.trigger1({ unknownType: true });
    expect(execution.status).toBe(200);
    const [seen] = (await receiver.fixture.read('unclassified')).filter(
      ({ record }) => record?.source === execution.sentBody,
    );
    expect(seen?.record).toMatchObject({
      eventId: receiptOf(execution).eventId,
      entityId: execution.entityId,
    });
  });

  it.each([
    ['can not be decrypted', 'DECRYPT', 'UNDECRYPTABLE', { sealed: true, wrongKey: true }],
    ['can not be parsed', 'PARSE', 'UNPARSABLE', { rawBody: '{"type":"payment-status",' }],
  ])('valid signature, %s: 200, in dead-letter with its original bytes', async (_, stage, code, request) => {
    let execution = await receiver.trigger1(request);
    let sent = await sentIn(execution.id);
    while ('wrongKey' in request && looksLikeJson(sent.bodyBase64)) {
      execution = await receiver.trigger1(request);
      sent = await sentIn(execution.id);
    }
    expect(execution.status).toBe(200);
    const [deadLetter] = await deadLetterOf(receiptOf(execution).eventId);
    expect(deadLetter?.value?.toString('base64')).toBe(sent.bodyBase64);
    expect(deadLetter?.headers).toMatchObject({
      '__connect.errors.stage': stage,
      '__connect.errors.exception.class.name': code,
      'hookline.ref': 'ledger-eu',
    });
  });

  it('a sealed body that is sent again under another Content-Type: 200, the same event', async () => {
    const execution = await receiver.trigger1({ event: 'payment-status', sealed: true });
    const { bodyBase64 } = (await receiver.call('GET', `/_sandbox/executions/${execution.id}`)) as {
      bodyBase64: string;
    };
    const { eventId } = receiptOf(execution);
    for (const type of ['application/json', 'application/octet-stream']) {
      const answer = await post(Buffer.from(bodyBase64, 'base64'), { 'content-type': type });
      expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { eventId, stored: 'kafka' }]);
    }
    const records = await receiver.fixture.read('payment-status', 0);
    expect(records.filter(({ record }) => record?.eventId === eventId)).toHaveLength(3);
  });

  it('valid, but larger than its topic takes: 200, in dead-letter in parts that fit', async () => {
    const { fixture } = receiver;
    await setTopicBytes(fixture.env, fixture.topic('payment-status'), 1_000_000);
    await setTopicBytes(fixture.env, fixture.topic('dead-letter'), 600_000);
    const execution = await receiver.trigger1({ event: 'payment-status', sizeBytes: 2_500_000 });
    expect(execution.status).toBe(200);
    const deadLetters = await deadLetterOf(receiptOf(execution).eventId);
    const last = deadLetters.slice(-Number(deadLetters.at(-1)?.headers['hookline.parts']));
    expect(last.map(({ headers }) => headers['hookline.part'])).toEqual(last.map((_, n) => String(n + 1)));
    expect(Buffer.concat(last.map(({ value }) => value ?? Buffer.alloc(0))).toString()).toBe(
      execution.sentBody,
    );
    expect(last[0]?.headers).toMatchObject({
      '__connect.errors.stage': 'PRODUCE',
      '__connect.errors.topic': receiver.fixture.topic('payment-status'),
    });
  });

  it('signature missing, malformed, duplicated or wrong, or an unknown ref: 401, all alike, nowhere', async () => {
    const before = await countRecords();
    const body = '{"type":"payment-status"}';
    const answers = await Promise.all([
      post(body, { 'x-signature-sha256': undefined }),
      post(body, { 'x-signature-sha256': 'x' }),
      post(body, { 'x-signature-sha256': `${signatureOf(receiver, body)},${signatureOf(receiver, body)}` }),
      post(body, { 'x-signature-sha256': signatureOf(receiver, `${body} `) }),
      postSigned(url.replace('ledger-eu', 'nobody'), receiver, body),
    ]);
    for (const answer of answers) expect(answer).toEqual({ ...answers[0], status: 401 });
    const tampered = await receiver.trigger1({ event: 'payment-status', tamper: 'body', retry: false });
    expect(tampered.status).toBe(401);
    expect(await countRecords()).toBe(before);
    expect(await metric('hookline_deliveries_refused_total{code="UNAUTHENTIC"}')).toBe(6);
  });

  it('body over MAX_BODY_BYTES: 413, nowhere', async () => {
    const before = await countRecords();
    expect(await post('x'.repeat(3_000_001))).toMatchObject({ status: 413 });
    expect(await countRecords()).toBe(before);
  });

  it('another Content-Type, or any Content-Encoding: 415, nowhere', async () => {
    const before = await countRecords();
    expect(await post('{}', { 'content-type': 'text/plain' })).toMatchObject({ status: 415 });
    expect(await post('{}', { 'content-encoding': 'gzip' })).toMatchObject({ status: 415 });
    expect(await countRecords()).toBe(before);
  });

  it('malformed request or body cut off: 400, too slow: 408, nowhere', async () => {
    const before = await countRecords();
    const head = `POST /webhooks/ledger-eu HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n`;
    const port = Number(new URL(url).port);
    const [malformed, cut, slow] = await Promise.all([
      exchange(port, [head.replace('Host: x', 'Host : x')]),
      exchange(port, [head, '{"a"'], { end: true }),
      exchange(port, [head, '{"a"']),
    ]);
    expect(malformed).toMatch(/^HTTP\/1\.1 400 /);
    expect(cut).toMatch(/^HTTP\/1\.1 400 /);
    expect(slow).toMatch(/^HTTP\/1\.1 408 /);
    expect(await countRecords()).toBe(before);
  });

  it('source address not in ALLOWED_SOURCES: 403 behind a proxy, else the connection is closed; nowhere', async () => {
    const before = await countRecords();
    const closed = await receiver.fixture.ingress({ ALLOWED_SOURCES: '203.0.113.0/24' });
    await expect(postSigned(`${closed.url}/webhooks/ledger-eu`, receiver, '{}')).rejects.toThrow();
    await closed.process.stop();
    const proxied = await receiver.fixture.ingress({
      ALLOWED_SOURCES: '203.0.113.0/24',
      TRUSTED_PROXIES: '127.0.0.1',
    });
    const headers = { 'x-forwarded-for': '198.51.100.1' };
    const answer = await postSigned(`${proxied.url}/webhooks/ledger-eu`, receiver, '{}', headers);
    expect(answer).toMatchObject({ status: 403 });
    await proxied.process.stop();
    expect(await countRecords()).toBe(before);
  });

  it('stopping: requests in flight are finished, then 503 with Retry-After; exit code 0', async () => {
    const { process, url: stopping } = await receiver.fixture.ingress();
    const sent = Array.from({ length: 50 }, (_, n) =>
      postSigned(`${stopping}/webhooks/ledger-eu`, receiver, `{"n":${n}}`),
    );
    await Promise.race(sent);
    process.kill('SIGTERM');
    const answers = await Promise.all(sent.map((one) => one.catch(() => null)));
    const stored = answers.filter((answer) => answer?.status === 200);
    const others = answers.filter((answer) => answer !== null && answer.status !== 200);
    const isStopping = { status: 503, retryAfter: '5', text: expect.stringContaining('STOPPING') };
    expect(others).toEqual(others.map(() => isStopping));
    expect(stored.length).toBeGreaterThan(0);
    expect(await process.end()).toBe(0);
    const ids = new Set((await receiver.fixture.read('unclassified')).map(({ record }) => record?.eventId));
    for (const answer of stored) expect(ids).toContain(JSON.parse(answer?.text ?? '').eventId);
    await expect(postSigned(`${stopping}/webhooks/ledger-eu`, receiver, '{}')).rejects.toThrow();
  });

  it('writes no body, secret or key into its log, whatever came', () => {
    const logs = receiver.fixture.logs();
    for (const secret of [receiver.signingSecret, '0123456789abcdef0123456789ABCDEF', 'FIToFIPmtStsRpt']) {
      expect(logs).not.toContain(secret);
    }
    expect(logs).toContain('webhook stored');
  });
});

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${await receiver.ingress.process.adminUrl()}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.split(' ')[1]);
}
