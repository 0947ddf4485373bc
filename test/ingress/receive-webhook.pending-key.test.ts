import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { signingSecret, subscriptionId } from '../support/delivery-parts.ts';
import { post, sign, startIngressApp } from '../support/ingress-app.ts';
import { signatureOf } from '../support/sign.ts';
import { subscriptionRecord } from '../support/subscription-record.ts';
import { until } from '../support/until.ts';

const body = '{"type":"payment-status"}';
const requested = subscriptionRecord({ ref: 'new-one', state: 'REQUESTED', subscriptionId: null });

describe('a webhook for a subscription that is being created', () => {
  it('waits for the key, and is then judged by it', async () => {
    await using ingress = await startIngressApp();
    ingress.keyring.setRecord('new-one', requested, {});
    const good = post(`${ingress.url}/webhooks/new-one`, body);
    const wrong = post(`${ingress.url}/webhooks/new-one`, body, { 'x-signature-sha256': '0'.repeat(64) });
    const early = await Promise.race([
      good,
      wrong,
      new Promise((resolve) => setTimeout(resolve, 200, 'waiting')),
    ]);
    expect(early).toBe('waiting');
    ingress.keyring.setRecord(
      'new-one',
      { ...requested, state: 'ACTIVE', subscriptionId },
      { signingSecret },
    );
    expect([(await good).status, (await wrong).status]).toEqual([200, 401]);
  });

  it('is answered 503 with Retry-After when the key does not come', async () => {
    await using ingress = await startIngressApp({ requestTimeoutMs: 20_000 });
    ingress.keyring.setRecord('new-one', requested, {});
    const response = await post(`${ingress.url}/webhooks/new-one`, body);
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await response.text()).toContain('KEY_PENDING');
  });

  it('is judged at once when the intent is withdrawn', async () => {
    await using ingress = await startIngressApp();
    ingress.keyring.setRecord('new-one', requested, {});
    const answer = post(`${ingress.url}/webhooks/new-one`, body);
    await new Promise((resolve) => setTimeout(resolve, 100));
    ingress.keyring.setRecord('new-one', null, null);
    expect((await answer).status).toBe(401);
  });
});

describe('a webhook for a subscription that is created anew', () => {
  const old = { subscriptionId: '7'.repeat(36), signingSecret: '8'.repeat(36) };
  const previous = [{ ...old, retiredAt: Date.now() + 60_000 }];
  const signedByOld = { 'x-signature-sha256': signatureOf(old, body) };

  it('waits for the new key, though keys of its predecessor are live', async () => {
    await using ingress = await startIngressApp();
    ingress.keyring.setRecord('new-one', requested, { previous });
    const answer = post(`${ingress.url}/webhooks/new-one`, body);
    // What the predecessor's key has signed is judged meanwhile: it doesn't wait.
    expect((await post(`${ingress.url}/webhooks/new-one`, body, signedByOld)).status).toBe(200);
    const active = { ...requested, state: 'ACTIVE', subscriptionId } as const;
    ingress.keyring.setRecord('new-one', active, { signingSecret, previous });
    expect((await answer).status).toBe(200);
  });

  it('is judged by the key that comes while its body does', async () => {
    await using ingress = await startIngressApp();
    ingress.keyring.setRecord('new-one', requested, {});
    const head =
      'POST /webhooks/new-one HTTP/1.1\r\nhost: a\r\nconnection: close\r\nexpect: 100-continue\r\n' +
      `content-type: application/json\r\nx-signature-sha256: ${sign(body)}\r\ncontent-length: ${body.length}\r\n\r\n`;
    const socket = connect(ingress.port, '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk) => {
      answer += String(chunk);
    });
    socket.write(head);
    await until('the body is wanted', () => answer.includes('100 Continue'));
    const active = { ...requested, state: 'ACTIVE', subscriptionId } as const;
    ingress.keyring.setRecord('new-one', active, { signingSecret });
    socket.end(body);
    await once(socket, 'close');
    expect(answer).toMatch(/HTTP\/1.1 200 /);
  });

  it('is judged by the key that comes between its head and a body of several chunks', async () => {
    const long = `{"type":"payment-status","x":"${'x'.repeat(2_000)}"}`;
    await using ingress = await startIngressApp();
    ingress.keyring.setRecord('new-one', requested, {});
    const socket = connect(ingress.port, '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk) => {
      answer += String(chunk);
    });
    socket.write(
      'POST /webhooks/new-one HTTP/1.1\r\nhost: a\r\nconnection: close\r\nexpect: 100-continue\r\n' +
        `content-type: application/json\r\nx-signature-sha256: ${sign(long)}\r\ncontent-length: ${long.length}\r\n\r\n`,
    );
    await until('the body is wanted', () => answer.includes('100 Continue'));
    const active = { ...requested, state: 'ACTIVE', subscriptionId } as const;
    ingress.keyring.setRecord('new-one', active, { signingSecret });
    socket.write(long.slice(0, 1_000));
    await until('a part has come', () => [...ingress.memory.open].some(({ bytes }) => bytes > 0));
    socket.end(long.slice(1_000));
    await once(socket, 'close');
    expect(answer).toMatch(/HTTP\/1.1 200 /);
  });
});
