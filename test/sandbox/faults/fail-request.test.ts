import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { until } from '../../support/until.ts';
import { openSandbox, TOKEN_FORM } from '../support/open-sandbox.ts';

const BODY = { url: 'https://hookline.example/webhooks/a', events: ['payment_status'] };

type Sandbox = Awaited<ReturnType<typeof openSandbox>>;

async function createWith(sandbox: Sandbox, fault: object, signal?: AbortSignal) {
  const token = await sandbox.token();
  const set = await sandbox.fail({ operation: 'create', ...fault });
  expect(set.status).toBe(200);
  const answer = await fetch(`${sandbox.url}/subscriptions`, {
    method: 'POST',
    redirect: 'manual',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(BODY),
    ...(signal ? { signal } : {}),
  });
  return { answer, text: await answer.text() };
}

const created = async (sandbox: Sandbox): Promise<number> =>
  (await sandbox.call('GET', '/_sandbox/subscriptions')).json.length;

describe('a fault without effect', () => {
  it('status: answers with code, headers and body', async () => {
    await using sandbox = await openSandbox();
    const fault = { kind: 'status', code: 429, headers: { 'Retry-After': '7' }, body: { slow: 'down' } };
    const { answer, text } = await createWith(sandbox, fault);
    expect([answer.status, answer.headers.get('retry-after'), text]).toEqual([429, '7', '{"slow":"down"}']);
    expect(await created(sandbox)).toBe(0);
    expect(
      (await createWith(sandbox, { ...fault, body: 'plain' })).answer.headers.get('content-type'),
    ).toMatch('text/plain');
  });

  it('drop-before: cuts the connection', async () => {
    await using sandbox = await openSandbox();
    await expect(createWith(sandbox, { kind: 'drop-before' })).rejects.toThrow('fetch failed');
    expect(await created(sandbox)).toBe(0);
  });

  it('hang: never answers', async () => {
    await using sandbox = await openSandbox();
    const impatience = new AbortController();
    const hanging = createWith(sandbox, { kind: 'hang' }, impatience.signal);
    await until('the request hangs', async () => {
      const { json } = await sandbox.call('GET', '/_sandbox/faults');
      return json[0]?.hits === 1;
    });
    impatience.abort();
    await expect(hanging).rejects.toThrow('aborted');
    expect(await created(sandbox)).toBe(0);
  });

  it('redirect: points elsewhere', async () => {
    await using sandbox = await openSandbox();
    const { answer } = await createWith(sandbox, { kind: 'redirect', location: 'https://evil.example/' });
    expect([answer.status, answer.headers.get('location')]).toEqual([307, 'https://evil.example/']);
    expect(await created(sandbox)).toBe(0);
  });

  it('html-200: answers with a login page', async () => {
    await using sandbox = await openSandbox();
    const { answer, text } = await createWith(sandbox, { kind: 'html-200' });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html']);
    expect(text).toContain('sign in');
    expect(await created(sandbox)).toBe(0);
  });
});

describe('a fault with effect', () => {
  it.each([
    { kind: 'status', code: 502, effect: true },
    { kind: 'html-200', effect: true },
    { kind: 'redirect', effect: true },
  ])('%j', async (fault) => {
    await using sandbox = await openSandbox();
    const { answer, text } = await createWith(sandbox, fault);
    expect(answer.status).toBe(fault.code ?? (fault.kind === 'redirect' ? 307 : 200));
    expect(text).not.toContain('signingSecret');
    expect(await created(sandbox)).toBe(1);
  });

  it('drop-after: it happens, and the answer is lost', async () => {
    await using sandbox = await openSandbox();
    await expect(createWith(sandbox, { kind: 'drop-after' })).rejects.toThrow('fetch failed');
    expect(await created(sandbox)).toBe(1);
  });

  it('hang with effect: it happens, and no answer comes', async () => {
    await using sandbox = await openSandbox();
    const impatience = new AbortController();
    const hanging = createWith(sandbox, { kind: 'hang', effect: true }, impatience.signal);
    await until('it is created', async () => (await created(sandbox)) === 1);
    impatience.abort();
    await expect(hanging).rejects.toThrow('aborted');
  });

  it('malformed-json: the answer can’t be read', async () => {
    await using sandbox = await openSandbox();
    const { answer, text } = await createWith(sandbox, { kind: 'malformed-json' });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('content-type')).toMatch('application/json');
    expect(text).toContain('signingSecret');
    expect(() => JSON.parse(text)).toThrow(SyntaxError);
    expect(await created(sandbox)).toBe(1);
  });

  it('truncated-body: the answer breaks off', async () => {
    await using sandbox = await openSandbox();
    await expect(createWith(sandbox, { kind: 'truncated-body' })).rejects.toThrow('terminated');
    expect(await created(sandbox)).toBe(1);
  });

  it('slow-body: the whole answer in pieces', async () => {
    const slept: number[] = [];
    const clock = { ...systemClock, sleep: async (ms: number) => void slept.push(ms) };
    await using sandbox = await openSandbox({ clock });
    const { text } = await createWith(sandbox, { kind: 'slow-body', ms: 40, pieces: 4 });
    expect(JSON.parse(text)).toHaveProperty('signingSecret');
    expect(slept).toEqual([40, 40, 40]);
  });

  it('delay: it happens after a while, even if the caller is gone', async () => {
    const gate = Promise.withResolvers<void>();
    const slept: number[] = [];
    const clock = {
      ...systemClock,
      sleep: (ms: number) => {
        slept.push(ms);
        return gate.promise;
      },
    };
    await using sandbox = await openSandbox({ clock });
    const impatience = new AbortController();
    const delayed = createWith(sandbox, { kind: 'delay', ms: 60_000 }, impatience.signal);
    await until('the request is delayed', () => slept[0] === 60_000);
    impatience.abort();
    await expect(delayed).rejects.toThrow('aborted');
    expect(await created(sandbox)).toBe(0);
    gate.resolve();
    await until('it is created', async () => (await created(sandbox)) === 1);
  });

  it.each([
    ['no lifetime', { remove: ['/expires_in'] }, { expires_in: undefined }],
    ['a lifetime as text', { set: { '/expires_in': '300' } }, { expires_in: '300' }],
    ['another token type', { set: { '/token_type': 'mac' } }, { token_type: 'mac' }],
    ['a narrower scope', { set: { '/scope': 'accounts.read' } }, { scope: 'accounts.read' }],
  ])('alter: a token answer with %s', async (_name, change, expected) => {
    await using sandbox = await openSandbox();
    await sandbox.fail({ operation: 'token', kind: 'alter', ...change });
    const altered = await sandbox.call('POST', '/oauth/token', { form: TOKEN_FORM });
    expect(altered.status).toBe(200);
    expect(altered.json).toMatchObject({ access_token: expect.any(String) });
    for (const [name, value] of Object.entries(expected)) expect(altered.json[name]).toBe(value);
  });
});

it('hits before the token is looked at, and as often as it is told', async () => {
  await using sandbox = await openSandbox();
  await sandbox.fail({ operation: 'list', kind: 'status', code: 503, times: 2 });
  const statuses = [];
  for (let n = 0; n < 3; n++) statuses.push((await sandbox.call('GET', '/subscriptions')).status);
  expect(statuses).toEqual([503, 503, 401]);
});

it('leaves a connection that it cut truly cut', async () => {
  await using sandbox = await openSandbox();
  await sandbox.fail({ operation: 'list', kind: 'drop-before' });
  const socket = connect(Number(new URL(sandbox.url).port), '127.0.0.1');
  socket.on('error', () => {});
  socket.write('GET /subscriptions HTTP/1.1\r\nhost: sandbox\r\n\r\n');
  let answer = '';
  socket.on('data', (piece) => {
    answer += piece;
  });
  await once(socket, 'close');
  expect(answer).toBe('');
});
