import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { HooklineError } from '../../src/core/errors.ts';
import { createIngressObserver, webhookMetrics } from '../../src/ingress/observe-ingress.ts';
import { createMetrics } from '../../src/runtime/metrics.ts';
import { capturedLog } from '../support/captured-log.ts';
import { exchange, post, sign, startIngressApp } from '../support/ingress-app.ts';

const body = '{"type":"payment-status"}';

const KNOWN = ['ledger-eu', 'ledger-us'];

function observed() {
  const log = capturedLog();
  const metrics = createMetrics();
  const observer = createIngressObserver({
    logger: log.logger,
    metrics,
    keyring: { has: (ref) => KNOWN.includes(ref), refs: () => KNOWN },
  });
  const refused = async (code: string) =>
    (await webhookMetrics(metrics).refused.get()).values.find(({ labels }) => labels.code === code)?.value;
  return { log, metrics, observer, refused };
}

/** Opens a connection, sends, and resets it as soon as the system has taken the bytes. */
async function reset(port: number, bytes: string): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(bytes, () => socket.resetAndDestroy());
  await once(socket, 'close');
}

const HEAD =
  `POST /webhooks/ledger-eu HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n` +
  `X-Forwarded-For: 203.0.113.7\r\nX-Signature-SHA256: ${sign(body)}\r\n`;
const REQUESTS = [
  '\r\n',
  'POST /webhooks/ledger-eu HT',
  `${HEAD}Content-Length: 100\r\n\r\n`,
  `${HEAD}Content-Length: 100\r\n\r\n{"a":`,
  `${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`,
  `${HEAD}Content-Length: 3000000\r\n\r\n${'x'.repeat(100_000)}`,
  `${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`,
  `${HEAD}Expect: 100-continue\r\nContent-Length: 100\r\n\r\n`,
  'POST /nowhere HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n',
  'POST /webhooks/%zz HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nx',
];

describe('connections that are reset', () => {
  const allowedSources = ['127.0.0.0/8', '203.0.113.0/24'];
  it.each([
    ['', {}],
    [' from allowed sources', { allowedSources }],
    [' behind trusted proxies', { allowedSources, trustedProxies: ['127.0.0.0/8'], maxPerSource: 2_000 }],
  ])('1,000 of them%s: nothing is INTERNAL, and at most 20 lines are logged', async (_, options) => {
    const { log, observer, refused } = observed();
    await using ingress = await startIngressApp({ ...options, observer, maxBodyBytes: 10_000_000 });
    for (let n = 0; n < 1_000; n += 50) {
      const requests = Array.from({ length: 50 }, (_, at) => REQUESTS[(n + at) % REQUESTS.length] as string);
      await Promise.all(requests.map((request) => reset(ingress.port, request)));
    }
    await expect.poll(() => ingress.limits.open).toBe(0);
    const response = await post(`${ingress.url}/webhooks/ledger-eu`, body, {
      'x-forwarded-for': '203.0.113.7',
    });
    expect(response.status).toBe(200);
    await observer.stop();
    expect(await refused('INTERNAL')).toBe(0);
    expect(await refused('SOURCE_NOT_ALLOWED')).toBe(0);
    expect(log.lines().length).toBeLessThanOrEqual(20);
    expect(log.text()).not.toContain('INTERNAL');
  });

  it('counts a webhook whose sender went before its answer as what it was', async () => {
    const { metrics, observer, refused } = observed();
    await using ingress = await startIngressApp({ observer });
    const { publish } = ingress.delivery;
    const gone = Promise.withResolvers<void>();
    Object.assign(ingress.delivery, {
      publish: async (record: never) => {
        await gone.promise;
        return publish(record);
      },
    });
    await reset(ingress.port, REQUESTS[4] as string);
    await expect.poll(() => ingress.limits.open).toBe(0);
    gone.resolve();
    await expect.poll(() => ingress.seen.records.length).toBe(1);
    for (const sample of metrics.samplers) sample();
    const { values } = await webhookMetrics(metrics).deliveries.get();
    expect(values.filter(({ value }) => value > 0).map(({ labels }) => labels)).toEqual([
      { status: '200', stored: 'kafka' },
    ]);
    expect(await refused('BODY_INCOMPLETE')).toBe(0);
  });
});

describe('the log of refusals', () => {
  it('has the first of each kind at once and then a count per interval, INTERNAL too', async () => {
    vi.useFakeTimers();
    const { log, observer } = observed();
    const fail = () => observer.refused(new Error('unheard of'), 'ledger-eu', 0.1);
    const failElsewhere = () => observer.refused(new TypeError('unheard of, too'), 'ledger-eu', 0.1);
    for (let n = 0; n < 1_000; n++) fail();
    for (let n = 0; n < 10; n++) failElsewhere();
    for (let n = 0; n < 500; n++) observer.refused(new HooklineError('UNAUTHENTIC'), 'ledger-eu', 0.1);
    for (let n = 0; n < 100; n++) observer.closed('evicted');
    expect(log.lines().map(({ code, reason, level }) => [code ?? reason, level])).toEqual([
      ['INTERNAL', 'error'],
      ['INTERNAL', 'error'],
      ['UNAUTHENTIC', 'warn'],
      ['evicted', 'warn'],
    ]);
    expect(log.lines()[0]).toMatchObject({ err: { message: 'unheard of', stack: expect.any(String) } });
    vi.advanceTimersByTime(60_000);
    expect(
      log
        .lines()
        .slice(4)
        .map(({ count }) => count),
    ).toEqual([999, 9, 499, 99]);
    vi.advanceTimersByTime(120_000);
    fail();
    expect(log.lines()).toHaveLength(9);
    vi.useRealTimers();
    await observer.stop();
  });

  it('names no line of the message of a fault, which a stranger may have written', async () => {
    const { log, observer } = observed();
    observer.refused(new TypeError('x\n    at secret (file:///secret.ts:1:1)'), 'ledger-eu', 0.1);
    await observer.stop();
    expect(log.lines()).toMatchObject([
      { where: expect.stringMatching(/^TypeError .*observe-ingress\.test/) },
    ]);
  });

  it('names the line of a fault whose message has any number of empty lines', async () => {
    const { log, observer } = observed();
    // Trying each of them as the first one would take minutes.
    observer.refused(new TypeError(`${'\n'.repeat(400_000)}x`), 'ledger-eu', 0.1);
    await observer.stop();
    expect(log.lines()).toMatchObject([
      { where: expect.stringMatching(/^TypeError .*observe-ingress\.test/) },
    ]);
  });

  it('keeps neither a long ref nor a byte of what could not be parsed', async () => {
    const { log, observer } = observed();
    await using ingress = await startIngressApp({ observer });
    const secret = 's3cr3t-of-the-sender';
    await exchange(ingress.port, [`${HEAD}Transfer-Encoding: chunked\r\n\r\n${secret}\r\n`]);
    await exchange(ingress.port, [`POST /nowhere HTTP/1.1\r\n${secret}\r\n\r\n`]);
    await post(`${ingress.url}/webhooks/${'r'.repeat(64)}${secret}`, body);
    await observer.stop();
    expect(log.lines().map(({ code }) => code)).toEqual(
      expect.arrayContaining(['REQUEST_MALFORMED', 'UNAUTHENTIC']),
    );
    expect(log.text()).not.toContain(secret);
  });
});

it('what is answered 401 is counted by ref, from 0 on, and only of refs that have keys', async () => {
  const { observer, metrics } = observed();
  const counted = async () => {
    for (const sample of metrics.samplers) sample();
    const { values } = await webhookMetrics(metrics).signaturesRefused.get();
    return Object.fromEntries(values.map(({ labels, value }) => [labels.ref, value]));
  };
  expect(await counted()).toEqual({ 'ledger-eu': 0, 'ledger-us': 0 });
  const refuse = (code: 'UNAUTHENTIC' | 'BODY_TOO_LARGE', ref: string | undefined) =>
    observer.refused(new HooklineError(code), ref, 0.1);
  refuse('UNAUTHENTIC', 'ledger-eu');
  refuse('UNAUTHENTIC', 'ledger-eu');
  refuse('BODY_TOO_LARGE', 'ledger-us');
  for (const made of ['nobody', 'ledger', undefined]) refuse('UNAUTHENTIC', made);
  expect(await counted()).toEqual({ 'ledger-eu': 2, 'ledger-us': 0 });
});

it('shows of a ref without keys no more than what was not shown yet: teams make and delete refs without end', async () => {
  const metrics = createMetrics();
  const refs = new Set(Array.from({ length: 1_000 }, (_, n) => `ref-${n}`));
  const keyring = { has: (ref: string) => refs.has(ref), refs: () => [...refs] };
  const observer = createIngressObserver({ logger: capturedLog().logger, metrics, keyring });
  const scrape = async () => {
    for (const sample of metrics.samplers) sample();
    return (await webhookMetrics(metrics).signaturesRefused.get()).values;
  };
  expect(await scrape()).toHaveLength(1_000);
  observer.refused(new HooklineError('UNAUTHENTIC'), 'ref-7', 0.1);
  refs.clear();
  expect((await scrape()).find(({ labels }) => labels.ref === 'ref-7')?.value).toBe(1);
  expect(await scrape()).toEqual([]);
  await observer.stop();
});
