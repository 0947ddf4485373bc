import { describe, expect, it } from 'vitest';
import { until } from '../../support/until.ts';
import { opensslHmac, splitDefault, webCryptoOpen } from '../support/judges.ts';
import { openReceiver } from '../support/open-receiver.ts';
import { ENCRYPTION_KEY, openSandbox } from '../support/open-sandbox.ts';
import { stage } from '../support/stage.ts';

describe('POST /_sandbox/trigger', () => {
  it('answers at once with an id to poll', async () => {
    await using on = await stage();
    const fired = await on.sandbox.trigger({ count: 5 });
    expect(fired.status).toBe(202);
    expect(fired.json).toMatchObject({
      state: 'running',
      planned: 5,
      event: 'payment-status',
      executions: [],
    });
    const done = await until('it is done', async () => {
      const { json } = await on.sandbox.call('GET', `/_sandbox/triggers/${fired.json.id}`);
      return json.state === 'done' && json;
    });
    expect(done).toMatchObject({ sent: 5, delivered: 5, failed: 0, pending: 0, answers: { 200: 5 } });
    const bodies = done.executions.map((one: { sentBody: string }) => one.sentBody);
    expect([...bodies].sort()).toEqual(on.received.map((one) => one.body.toString()).sort());
  });

  it('waits for the first answers, or for the ends, and never longer than it is told', async () => {
    const receiver = await openReceiver({ answer: () => 503 });
    await using sandbox = await openSandbox({ retryScheduleS: [0.05] });
    await sandbox.seed(receiver.url);
    const first = await sandbox.trigger({ wait: true });
    expect(first.json.executions[0]).toMatchObject({ status: 503, responseBody: '{"said":503}' });
    const final = await sandbox.trigger({ wait: 'final' });
    expect(final.json).toMatchObject({ state: 'done', failed: 1, answers: { 503: 2 } });
    await sandbox.fail({ operation: 'delivery', kind: 'delay', ms: 60_000 });
    const inVain = await sandbox.trigger({ wait: true, waitMs: 20 });
    expect(inVain.json).toMatchObject({ state: 'running', pending: 1, answers: {} });
    await receiver[Symbol.asyncDispose]();
  });

  it('finds its targets by ref, id and url, or says why there is none', async () => {
    await using on = await stage();
    const other = await on.sandbox.seed('http://127.0.0.1:9/webhooks/other');
    const url = on.receiver.url;
    for (const filter of [{ ref: 'ledger' }, { subscriptionId: on.id }, { url }]) {
      const { json } = await on.sandbox.trigger({ ...filter, wait: 'final' });
      expect(json.executions.map((one: { subscriptionId: string }) => one.subscriptionId)).toEqual([on.id]);
    }
    const none = await on.sandbox.trigger({ ref: 'ledger', subscriptionId: other.id });
    expect([none.status, none.json.error]).toEqual([404, 'not_found']);
    const event = await on.sandbox.trigger({ event: 'accounts-entries' });
    expect(event.json.message).toContain('none of the 2 that match is active and subscribed');
  });

  it('spells the type either way, or as no schema knows it', async () => {
    await using on = await stage({ seed: { events: ['payment-status', 'accounts-entries'] } });
    const typeOf = async (json: object) =>
      (await on.sandbox.trigger({ wait: true, ...json })).json.executions[0].type;
    expect(await typeOf({ event: 'payment_status' })).toBe('payment-status');
    expect(await typeOf({ spelling: 'underscore' })).toBe('payment_status');
    expect(await typeOf({ event: 'accounts-entries', spelling: 'underscore' })).toBe('accounts_entries');
    expect(await typeOf({ unknownType: true })).toBe('sandbox-unknown');
    expect(await typeOf({ unknownType: 'loan.opened' })).toBe('loan.opened');
  });

  it('repeats a run byte for byte by its seed', async () => {
    await using on = await stage();
    const bodies = async (json: object) => {
      const answer = await on.sandbox.trigger({ count: 3, wait: 'final', ...json });
      return answer.json.executions.map((one: { sentBody: string }) => one.sentBody);
    };
    expect(await bodies({ seed: 7 })).toEqual(await bodies({ seed: 7 }));
    const unseeded = await on.sandbox.trigger({ count: 3, wait: 'final' });
    const { seed, at, executions } = unseeded.json;
    const again = await bodies({ seed, at });
    expect(again).toEqual(executions.map((one: { sentBody: string }) => one.sentBody));
  });

  it('tampers with the signature, or with the body that was signed', async () => {
    await using on = await stage();
    await on.sandbox.trigger({ wait: 'final', tamper: 'signature' });
    await on.sandbox.trigger({ wait: 'final', tamper: 'body' });
    const signatures = on.received.map((one) => one.headers['x-signature-sha256']);
    expect(signatures.every((signature) => /^[0-9a-f]{64}$/.test(String(signature)))).toBe(true);
    const right = on.received.map((one) => opensslHmac(on.key, one.body));
    expect(signatures[0]).not.toBe(right[0]);
    expect(signatures[1]).not.toBe(right[1]);
  });

  it('seals with a key that the receiver can’t have, and signs rightly', async () => {
    await using on = await stage();
    await on.sandbox.trigger({ wait: 'final', wrongKey: true });
    const [got] = on.received;
    expect(got?.headers['x-signature-sha256']).toBe(opensslHmac(on.key, got!.body));
    await expect(webCryptoOpen(splitDefault(got!.body), ENCRYPTION_KEY)).rejects.toThrow();
  });

  it('seals in the layout asked for, or in the configured one', async () => {
    await using on = await stage({ sandbox: { layout: 'json' } });
    await on.sandbox.trigger({ wait: 'final', sealed: true, envelope: { iv: 'nonce' } });
    await on.sandbox.trigger({ wait: 'final', sealed: true, layout: 'payload/iv12.ciphertext.tag16:hex' });
    const [first, second] = on.received.map((one) => JSON.parse(one.body.toString()));
    expect(Object.keys(first)).toEqual(['nonce', 'tag', 'data']);
    expect(second).toMatchObject({ type: 'payment-status', payload: expect.stringMatching(/^[0-9a-f]+$/) });
    expect(on.received[0]?.headers['content-type']).toBe('application/json');
  });

  it('sends a raw body as it is', async () => {
    await using on = await stage();
    const rawBody = '{"type":"payment-status","entityId":"e","n":12345678901234567890.10} ';
    const { json } = await on.sandbox.trigger({ wait: 'final', rawBody });
    expect(json.executions[0]).toMatchObject({ type: 'payment-status', entityId: 'e', sentBody: rawBody });
    await on.sandbox.trigger({ wait: 'final', rawBody: '' });
    expect(on.received.map((one) => one.body)).toEqual([Buffer.from(rawBody), Buffer.alloc(0)]);
    expect(on.received[1]?.headers['x-signature-sha256']).toBe(opensslHmac(on.key, Buffer.alloc(0)));
  });

  it('sends other headers where it is told, and leaves some out', async () => {
    await using on = await stage();
    const headers = {
      'Content-Type': 'text/plain',
      traceparent: ['00-a', '00-b'],
      'X-Signature-SHA256': null,
    };
    await on.sandbox.trigger({ wait: 'final', headers });
    expect(on.received[0]?.headers).toMatchObject({
      'content-type': 'text/plain',
      traceparent: '00-a, 00-b',
    });
    expect(on.received[0]?.headers['x-signature-sha256']).toBeUndefined();
  });

  it('keeps the order of each entity where it is asked to', async () => {
    const underWay = new Set<string>();
    const overtaken: string[] = [];
    const receiver = await openReceiver({
      answer:
        () =>
        (response, { body }) => {
          const { entityId } = JSON.parse(body.toString());
          if (underWay.has(entityId)) overtaken.push(entityId);
          underWay.add(entityId);
          setTimeout(() => {
            underWay.delete(entityId);
            response.writeHead(200).end();
          }, 5);
        },
    });
    await using sandbox = await openSandbox();
    await sandbox.seed(receiver.url);
    const { json } = await sandbox.trigger({ count: 24, entities: 3, ordered: true, wait: 'final' });
    const sent = json.executions.map((one: { sentBody: string }) => one.sentBody);
    const entityOf = (body: string): string => JSON.parse(body).entityId;
    const arrived = receiver.received.map((one) => one.body.toString());
    for (const entity of new Set(sent.map(entityOf))) {
      const own = (bodies: string[]) => bodies.filter((body) => entityOf(body) === entity);
      expect(own(arrived)).toEqual(own(sent));
      expect(own(arrived)).toHaveLength(8);
    }
    expect(overtaken).toEqual([]);
    await receiver[Symbol.asyncDispose]();
  });

  it('sends 50 MB, plain and sealed', async () => {
    await using on = await stage();
    const sizeBytes = 50 * 1024 * 1024;
    const plain = await on.sandbox.trigger({ wait: 'final', sizeBytes, bodies: false });
    const sealed = await on.sandbox.trigger({ wait: 'final', sizeBytes, sealed: true, bodies: false });
    expect([plain.json.delivered, sealed.json.delivered]).toEqual([1, 1]);
    expect(on.received.map((one) => one.body.length)).toEqual([sizeBytes, sizeBytes + 28]);
    expect(plain.json.executions[0].sentBody).toBeNull();
    for (const one of on.received) {
      expect(one.headers['x-signature-sha256']).toBe(opensslHmac(on.key, one.body));
    }
    expect((await webCryptoOpen(splitDefault(on.received[1]!.body), ENCRYPTION_KEY)).length).toBe(sizeBytes);
  });
});

it('DELETE /_sandbox/triggers/{id} stops the firing', async () => {
  await using on = await stage();
  const { json } = await on.sandbox.trigger({ count: 1_000_000, rate: 200 });
  await until('some have arrived', () => on.received.length > 5);
  const path = `/_sandbox/triggers/${json.id}`;
  expect((await on.sandbox.call('DELETE', path)).status).toBe(204);
  const stopped = await until('it has stopped', async () => {
    const seen = await on.sandbox.call('GET', `${path}?bodies=false`);
    return seen.json.state === 'cancelled' && seen.json.pending === 0 && seen.json;
  });
  expect(stopped.sent).toBe(stopped.delivered);
  expect(stopped.executions[0].sentBody).toBeNull();
  expect((await on.sandbox.call('GET', '/_sandbox/triggers/nobody')).status).toBe(404);
});

it('a trigger waits while too many deliveries are on their way, and loses none', async () => {
  let open = false;
  const receiver = await openReceiver({ answer: () => (open ? 200 : 503) });
  await using sandbox = await openSandbox({ keepExecutions: 5, retryScheduleS: Array(10_000).fill(0.01) });
  await sandbox.seed(receiver.url);
  const { json } = await sandbox.trigger({ count: 20 });
  const progress = async () => (await sandbox.call('GET', `/_sandbox/triggers/${json.id}`)).json;
  await until('the capacity is used up', async () => (await progress()).sent === 5);
  open = true;
  const done = await until('all have arrived', async () => {
    const seen = await progress();
    return seen.state === 'done' && seen;
  });
  expect(done).toMatchObject({ delivered: 20, failed: 0, cancelled: 0 });
  expect(done.executions).toHaveLength(5);
  await receiver[Symbol.asyncDispose]();
});
