import { expect, it } from 'vitest';
import { as, HEADER_MODE, openConsoleApp } from '../../support/console-app.ts';

const ask = (the: Awaited<ReturnType<typeof openConsoleApp>>, headers: object, remoteAddress = '127.0.0.1') =>
  the.app.inject({ url: '/words', remoteAddress, headers: { accept: 'application/json', ...headers } });

it("believes the header of a proxy's address alone, whatever is forwarded", async () => {
  await using the = await openConsoleApp(HEADER_MODE);
  expect((await ask(the, as('vera', 'viewers'))).statusCode).toBe(200);
  const past = await ask(the, { ...as('vera', 'viewers'), 'x-forwarded-for': '127.0.0.1' }, '10.1.2.3');
  expect([past.statusCode, past.json().message]).toEqual([
    403,
    expect.stringContaining('CONSOLE_TRUSTED_PROXIES'),
  ]);
});

it('refuses a user who is not named, or named twice', async () => {
  await using the = await openConsoleApp(HEADER_MODE);
  expect((await ask(the, {})).statusCode).toBe(403);
  const long = await ask(the, as('v'.repeat(101), 'viewers'));
  expect([long.statusCode, long.json().message]).toEqual([
    403,
    'The name of the user has 101 characters, and the console takes at most 100. x-forwarded-user has it.',
  ]);
  expect((await ask(the, as('v'.repeat(100), 'viewers'))).statusCode).toBe(200);
  // What turns the text around is sent as bytes of UTF-8, as proxies do.
  const turned = Buffer.from('vera\u202e', 'utf8').toString('latin1');
  expect((await ask(the, as(turned, 'viewers'))).json().message).toContain('control or format characters');
  const twice = await ask(the, { 'x-forwarded-user': ['vera', 'root'], 'x-forwarded-groups': 'viewers' });
  expect([twice.statusCode, twice.json().message]).toEqual([403, expect.stringContaining('twice')]);
});

it('shows those whom it does not know nothing but that', async () => {
  await using the = await openConsoleApp(HEADER_MODE);
  const page = await the.app.inject({ url: '/words', headers: { accept: 'text/html' } });
  expect([page.statusCode, page.body.includes('href="/words"')]).toEqual([403, false]);
});

it('answers probes of anybody: the kubelet has no login', async () => {
  await using the = await openConsoleApp(HEADER_MODE);
  const probes = ['/livez', '/readyz'].map((url) => the.app.inject({ url, remoteAddress: '10.1.2.3' }));
  expect((await Promise.all(probes)).map(({ statusCode }) => statusCode)).toEqual([200, 503]);
});
