import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { until } from '../../support/until.ts';
import { opensslHmac, splitDefault, webCryptoOpen } from '../support/judges.ts';
import { openReceiver } from '../support/open-receiver.ts';
import { ENCRYPTION_KEY, openSandbox } from '../support/open-sandbox.ts';

describe('a delivery', () => {
  it('plain: the message as JSON, signed over the bytes as sent', async () => {
    await using receiver = await openReceiver();
    await using sandbox = await openSandbox();
    const { id, signingSecret } = await sandbox.seed(receiver.url);
    const { json } = await sandbox.trigger({ wait: true });
    const [got] = receiver.received;
    expect(got?.headers['content-type']).toBe('application/json');
    expect(got?.headers.authorization).toBeUndefined();
    expect(got?.headers['x-signature-sha256']).toBe(opensslHmac(id + signingSecret, got!.body));
    expect(got?.body.toString()).toBe(json.executions[0].sentBody);
    expect(json.executions[0]).toMatchObject({
      state: 'delivered',
      status: 200,
      responseBody: '{"said":200}',
    });
  });

  it('sealed: a binary stream that WebCrypto opens, signed over what is sealed', async () => {
    await using receiver = await openReceiver();
    await using sandbox = await openSandbox();
    const { id, signingSecret } = await sandbox.seed(receiver.url);
    const { json } = await sandbox.trigger({ wait: true, sealed: true });
    const [got] = receiver.received;
    expect(got?.headers['content-type']).toBe('application/octet-stream');
    expect(got?.headers['x-signature-sha256']).toBe(opensslHmac(id + signingSecret, got!.body));
    const opened = await webCryptoOpen(splitDefault(got!.body), ENCRYPTION_KEY);
    expect(opened).toBe(json.executions[0].sentBody);
  });

  it('goes to every active subscription of the event, and to no other', async () => {
    await using receiver = await openReceiver();
    await using sandbox = await openSandbox();
    const one = await sandbox.seed(receiver.url);
    const two = await sandbox.seed(receiver.url, { encryptionKey: null });
    await sandbox.seed(receiver.url, { events: ['accounts-entries'] });
    await sandbox.seed(receiver.url, { active: false });
    const { json } = await sandbox.trigger({ wait: true });
    expect(json.executions.map((each: { subscriptionId: string }) => each.subscriptionId).sort()).toEqual(
      [one.id, two.id].sort(),
    );
    expect(receiver.received).toHaveLength(2);
  });

  it('uses its connections again', async () => {
    await using receiver = await openReceiver();
    await using sandbox = await openSandbox({ deliveryConcurrency: 2 });
    await sandbox.seed(receiver.url);
    await sandbox.trigger({ count: 40, wait: 'final' });
    expect(receiver.received).toHaveLength(40);
    expect(receiver.sockets.size).toBeLessThanOrEqual(2);
  });
});

describe('the retries of a delivery', () => {
  it('send the same bytes by the schedule until a 2xx', async () => {
    await using receiver = await openReceiver({ answer: (n) => [503, 302, 204][n - 1] ?? 500 });
    await using sandbox = await openSandbox({ retryScheduleS: [0.02, 0.03, 5] });
    await sandbox.seed(receiver.url);
    const { json } = await sandbox.trigger({ wait: 'final', sealed: true });
    const [execution] = json.executions;
    expect(execution.state).toBe('delivered');
    expect(execution.attempts.map((attempt: { status: number }) => attempt.status)).toEqual([503, 302, 204]);
    expect(new Set(receiver.received.map((one) => one.body.toString('hex'))).size).toBe(1);
    expect(new Set(receiver.received.map((one) => one.headers['x-signature-sha256'])).size).toBe(1);
    expect(json.answers).toEqual({ 204: 1, 302: 1, 503: 1 });
  });

  it('wait as long as the schedule says', async () => {
    const slept: number[] = [];
    const clock = { ...systemClock, sleep: async (ms: number) => void slept.push(ms) };
    await using receiver = await openReceiver({ answer: () => 500 });
    await using sandbox = await openSandbox({ retryScheduleS: [1, 5, 30, 120, 600], clock });
    await sandbox.seed(receiver.url);
    const { json } = await sandbox.trigger({ wait: 'final' });
    expect(slept).toEqual([1_000, 5_000, 30_000, 120_000, 600_000]);
    expect(json).toMatchObject({ failed: 1, delivered: 0, answers: { 500: 6 } });
  });

  it('stop at a 410', async () => {
    await using receiver = await openReceiver({ answer: () => 410 });
    await using sandbox = await openSandbox();
    await sandbox.seed(receiver.url);
    const { json } = await sandbox.trigger({ wait: 'final' });
    expect(json.executions[0]).toMatchObject({ state: 'failed', status: 410 });
    expect(receiver.received).toHaveLength(1);
  });

  it('can be left out', async () => {
    await using receiver = await openReceiver({ answer: () => 401 });
    await using sandbox = await openSandbox();
    await sandbox.seed(receiver.url);
    const { json } = await sandbox.trigger({ wait: 'final', retry: false });
    expect(json.executions[0].attempts).toHaveLength(1);
  });

  it('follow a receiver that is unavailable and one that does not answer in time', async () => {
    const closed = await openReceiver();
    await closed[Symbol.asyncDispose]();
    await using silent = await openReceiver({ answer: () => () => {} });
    await using sandbox = await openSandbox({ deliveryTimeoutMs: 50, retryScheduleS: [0.01] });
    await sandbox.seed(closed.url);
    await sandbox.seed(silent.url);
    const { json } = await sandbox.trigger({ wait: 'final' });
    const errors = json.executions.flatMap((one: { attempts: { error: string }[] }) =>
      one.attempts.map((attempt) => attempt.error),
    );
    expect(errors.sort()).toEqual([
      expect.stringContaining('ECONNREFUSED'),
      expect.stringContaining('ECONNREFUSED'),
      'no answer within 50 ms',
      'no answer within 50 ms',
    ]);
  });

  it('go where the subscription points meanwhile, and end with it', async () => {
    await using old = await openReceiver({ answer: () => 503 });
    await using next = await openReceiver({ answer: () => 503 });
    await using sandbox = await openSandbox({ retryScheduleS: Array(1000).fill(0.005) });
    const { id } = await sandbox.seed(old.url);
    const token = await sandbox.token();
    const fired = await sandbox.trigger({ wait: true });
    await sandbox.call('PUT', `/subscription/${id}`, { json: { url: next.url }, token });
    await until('the new address is used', () => next.received.length > 0);
    await sandbox.call('DELETE', `/subscription/${id}`, { token });
    const path = `/_sandbox/executions/${fired.json.executions[0].id}`;
    const ended = await until('the execution is cancelled', async () => {
      const { json } = await sandbox.call('GET', path);
      return json.state === 'cancelled' && json;
    });
    expect(ended.url).toBe(next.url);
  });
});

it('a subscription that is no longer active gets no repeat', async () => {
  await using receiver = await openReceiver({ answer: () => 503 });
  await using sandbox = await openSandbox({ retryScheduleS: Array(1000).fill(0.005) });
  const seed = await sandbox.seed(receiver.url);
  const { json } = await sandbox.trigger({ wait: true });
  await sandbox.seed(receiver.url, { id: seed.id, active: false });
  await until('it is cancelled', async () => {
    const seen = await sandbox.call('GET', `/_sandbox/triggers/${json.id}`);
    return seen.json.cancelled === 1;
  });
});

it('does not block the API while a receiver hangs', async () => {
  await using silent = await openReceiver({ answer: () => () => {} });
  await using sandbox = await openSandbox({ deliveryTimeoutMs: 60_000, deliveryConcurrency: 4 });
  await sandbox.seed(silent.url);
  await sandbox.trigger({ count: 100 });
  await until('the receiver is busy', () => silent.received.length === 4);
  expect((await sandbox.call('GET', '/livez')).status).toBe(200);
  await using healthy = await openReceiver();
  const { id } = await sandbox.seed(healthy.url);
  const { json } = await sandbox.trigger({ subscriptionId: id, wait: 'final' });
  expect(json.delivered).toBe(1);
});
