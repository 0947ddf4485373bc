import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { leaseOf } from '../../src/core/lease.ts';
import { createProviderCall } from '../../src/provider/call-provider.ts';
import { type Clock, systemClock } from '../../src/runtime/clock.ts';
import type { HttpRequest } from '../../src/runtime/http-client.ts';
import type { TokenSource } from '../../src/tokens/token-source.ts';
import { manualClock } from '../support/manual-clock.ts';
import { openProviderHarness } from '../support/provider-harness.ts';
import { serve } from '../support/serve.ts';

const list = { method: 'GET', path: '/subscriptions' } as const;

describe('a call of the provider', () => {
  it('is told by method and collection, and judged', async () => {
    await using harness = await openProviderHarness();
    expect(await harness.call(list)).toMatchObject({ judgement: 'done', status: 200, body: [] });
    await harness.call({ method: 'DELETE', path: '/subscription/none' });
    expect(harness.requests).toEqual(['GET subscriptions done', 'DELETE subscription gone']);
  });

  it('whose caller may no longer have it done is not sent, although there was time until the token came', async () => {
    await using harness = await openProviderHarness();
    const over = new AbortController();
    const lease = { signal: over.signal, check: () => over.signal.throwIfAborted() };
    await harness.sandbox.fail({ operation: 'token', kind: 'delay', ms: 50 });
    const call = harness.call({
      method: 'DELETE',
      path: '/subscription/x',
      patience: { leftMs: 60_000, lease },
    });
    over.abort();
    await expect(call).rejects.toMatchObject({ name: 'AbortError' });
    expect([harness.requests, harness.tokenRequests]).toEqual([[], ['POST oauth/token done']]);
  });

  it('whose token is no longer taken is made once more with a fresh one', async () => {
    await using harness = await openProviderHarness();
    await harness.call(list);
    await harness.sandbox.call('POST', '/_sandbox/tokens/revoke');
    expect(await harness.call(list)).toMatchObject({ judgement: 'done' });
    expect((await harness.logged('list')).map(({ status }) => status)).toEqual([200, 401, 200]);
    expect(await harness.logged('token')).toHaveLength(2);
  });

  it('that is answered 401 with a fresh token too is unauthorised, and asks no third time', async () => {
    await using harness = await openProviderHarness();
    await harness.sandbox.fail({ operation: 'list', kind: 'status', code: 401, times: null });
    expect(await harness.call(list)).toMatchObject({ judgement: 'unauthorised', status: 401 });
    expect(await harness.logged('list')).toHaveLength(2);
  });

  it.each([
    [{ kind: 'drop-before' }, null],
    [{ kind: 'drop-after' }, null],
    [{ kind: 'truncated-body' }, null],
    [{ kind: 'status', code: 502, body: 'a secret of theirs' }, 502],
    [{ kind: 'html-200' }, 200],
    [{ kind: 'html-200', effect: true }, 200],
  ])(
    '%j may have had its effect: it is unknown, counted, and nothing of it is quoted',
    async (fault, status) => {
      await using harness = await openProviderHarness();
      await harness.sandbox.fail({ operation: 'list', ...fault });
      const outcome = await harness.call(list);
      expect(outcome).toMatchObject({ judgement: 'unknown', status });
      expect(outcome.why).toMatch(
        /^the provider (did not answer \([A-Z_]+\)|answered (502|200 with a page))$/,
      );
      expect(harness.requests).toEqual(['GET subscriptions unknown']);
    },
  );

  it('counts the request for its token too, by how that was answered', async () => {
    await using harness = await openProviderHarness();
    await harness.sandbox.fail({ operation: 'token', kind: 'status', code: 403 });
    await expect(harness.call(list)).rejects.toMatchObject({ code: 'TOKEN_REFUSED' });
    await harness.call(list);
    expect(harness.tokenRequests).toEqual(['POST oauth/token refused', 'POST oauth/token done']);
  });

  it('of nobody who listens is unknown, by the name of the failure', async () => {
    await using harness = await openProviderHarness({ PROVIDER_BASE_URL: 'http://127.0.0.1:9' });
    expect(await harness.call(list)).toMatchObject({
      judgement: 'unknown',
      why: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it('is not redirected: the token would go elsewhere', async () => {
    await using harness = await openProviderHarness();
    await harness.sandbox.fail({ operation: 'list', kind: 'redirect', location: '/subscriptions' });
    expect(await harness.call(list)).toMatchObject({ judgement: 'refused', status: 307 });
    expect(await harness.logged('list')).toHaveLength(1);
  });

  it('says how long to wait', async () => {
    await using harness = await openProviderHarness();
    await harness.sandbox.fail({
      operation: 'list',
      kind: 'status',
      code: 429,
      headers: { 'Retry-After': '3' },
    });
    expect(await harness.call(list)).toMatchObject({ judgement: 'later', retryAfterMs: 3_000 });
  });

  it('without a token is not made', async () => {
    await using harness = await openProviderHarness();
    await harness.sandbox.fail({ operation: 'token', kind: 'status', code: 403 });
    await expect(harness.call(list)).rejects.toMatchObject({ code: 'TOKEN_REFUSED' });
    expect(await harness.logged('list')).toEqual([]);
  });
});

describe('a call with little time', () => {
  /** Calls in the time that is left, and what the HTTP client is told. */
  function open(error?: Error, clock: Clock = systemClock) {
    const sent: HttpRequest[] = [];
    const call = createProviderCall({
      clock,
      baseUrl: 'https://provider.example',
      onRequest() {},
      tokens: { get: async () => 'token', reject() {} } as unknown as TokenSource,
      http: {
        async send(request) {
          sent.push(request);
          if (error) throw error;
          return { status: 200, body: '[]', retryAfter: undefined };
        },
        async stop() {},
      },
    });
    return { call, sent };
  }
  const lease = leaseOf(new AbortController().signal);

  it('waits no longer than that, and a change otherwise longer than a list, which may be larger', async () => {
    const { call, sent } = open(undefined, manualClock());
    await call(list);
    await call({ method: 'DELETE', path: '/subscription/x' });
    await call({ method: 'DELETE', path: '/subscription/x', patience: { leftMs: 700, lease } });
    expect(sent.map(({ timeoutMs, maxAnswerBytes }) => [timeoutMs, maxAnswerBytes])).toEqual([
      [10_000, 8 * 1024 * 1024],
      [60_000, 256 * 1024],
      [700, 256 * 1024],
    ]);
  });

  it.each([
    [700, 'TimeoutError', true],
    [700, 'ECONNRESET', undefined],
    [600_000, 'TimeoutError', undefined],
  ])(
    'of %i ms that ends with %s says whether it was waited for as long as usually',
    async (leftMs, name, early) => {
      const { call } = open(Object.assign(new Error('no answer'), { name }));
      const outcome = await call({ method: 'POST', path: '/subscription', patience: { leftMs, lease } });
      expect(outcome).toMatchObject({ judgement: 'unknown', status: null });
      expect(outcome.timedOutEarly).toBe(early);
    },
  );
});

it('a change that a packed page answers is not known to be done', async () => {
  const page = gzipSync('<html>maintenance</html>');
  await using server = await serve((_, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(page),
  );
  await using behind = await openProviderHarness({ PROVIDER_BASE_URL: server.url });
  const { judgement, why } = await behind.call({ method: 'PUT', path: '/subscription/one', body: {} });
  expect([judgement, why]).toEqual(['unknown', expect.stringContaining('packed (gzip)')]);
});
