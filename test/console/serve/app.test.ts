import { type AddressInfo, connect } from 'node:net';
import { expect, it } from 'vitest';
import { formValue, html } from '../../../src/console/page/html.ts';
import { type Change, defineChange, definePage, PageError, typedIn } from '../../../src/console/page/page.ts';
import { as, HEADER_MODE, HOSTILE, openConsoleApp } from '../../support/console-app.ts';
import { until } from '../../support/until.ts';

const LOCAL = { host: '127.0.0.1:8070' };
const HTML = { ...LOCAL, accept: 'text/html' };

it('answers the same address as a page, as JSON, and with the command that shows the same', async () => {
  await using the = await openConsoleApp();
  const page = await the.app.inject({ url: '/words?q=hello', headers: HTML });
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
  expect(page.body).toContain('<code>hookline words hello</code>');
  expect(page.body).toContain('aria-current="page"');
  const json = await the.app.inject({
    url: '/words?q=hello',
    headers: { ...LOCAL, accept: 'application/json' },
  });
  expect([json.json(), json.headers['csrf-token']]).toEqual([{ word: 'hello' }, expect.any(String)]);
});

const failing = definePage<object>({
  path: '/lists/:name',
  title: 'A list',
  role: 'view',
  cli: () => 'hookline list',
  data: async ({ params: { name } }) => {
    throw name === 'none'
      ? new PageError(404, 'There is no list of this name.')
      : new Error('no broker answers');
  },
  render: () => html`<p></p>`,
});
const lists = definePage<object>({ ...failing, path: '/lists', navigation: 'Lists', data: async () => ({}) });

it('marks in the navigation where the reader is, where the page could not be made too', async () => {
  await using the = await openConsoleApp({}, { pages: [lists, failing] });
  const at = async (url: string) => (await the.app.inject({ url, headers: HTML })).body;
  expect(await at('/lists')).toContain('<a href="/lists" aria-current="page">');
  expect(await at('/lists/ours?q=1')).toContain('<a href="/lists" aria-current="true">');
  expect(await at('/lists/none')).toContain('<a href="/lists" aria-current="true">');
  expect(await at('/listsandmore')).not.toContain('aria-current');
});

it('offers to try again what can end otherwise', async () => {
  await using the = await openConsoleApp({}, { pages: [lists, failing] });
  const at = async (url: string) => (await the.app.inject({ url, headers: HTML })).body;
  expect(await at('/lists/ours?q=a&b="')).toContain('href="/lists/ours?q=a&amp;b=%22">Try again</a>');
  expect(await at('/lists/none')).not.toContain('Try again');
});

it('leads from what is wrong with a form back to its page', async () => {
  await using the = await openConsoleApp();
  const { statusCode, body } = await the.post({}, { wrod: 'new' }, '/words/others');
  expect(statusCode).toBe(400);
  expect(body).toContain('href="/words">Back to Words</a>');
});

/** Whose form has a change. */
const typedPage = (change: Partial<Change>) =>
  definePage<object>({
    ...lists,
    path: '/words',
    title: 'Words',
    render: (_, { csrfField }) => html`<form method="post">${csrfField}</form>`,
    changes: [
      defineChange<object, object>({
        path: '/words',
        title: 'Changed',
        role: 'operate',
        fields: ['word', 'other'],
        read: () => ({}),
        audited: () => null,
        make: async () => ({}),
        show: () => html``,
        ...change,
      }),
    ],
  });

it('shows a form again that cannot be used, with what was typed into it, and nothing of it unescaped', async () => {
  const typed = typedPage({
    read: () => {
      throw new PageError(400, 'word must be a word.');
    },
    again: (fields, { csrfField }) =>
      html`<form method="post">${csrfField}<input name="word" value="${formValue(typedIn(fields, 'word'))}">${typedIn(fields, 'other')}</form>`,
  });
  await using the = await openConsoleApp({}, { pages: [typed] });
  const { statusCode, body } = await the.post({}, { word: HOSTILE });
  expect(statusCode).toBe(400);
  expect(body).toContain('word must be a word.');
  expect(body).toContain('name="_csrf"');
  expect(body).toContain('value="&quot;&#39;&gt;&lt;script&gt;alert(1)');
  expect(body).not.toContain('<script>alert');
  expect(body).not.toContain('Back to Words');
});

it('shows each user the own form again, where one failure ends the requests of two', async () => {
  const shared = Promise.withResolvers<object>();
  let waiting = 0;
  const typed = typedPage({
    make: () => {
      waiting++;
      return shared.promise;
    },
    again: (fields) => html`<p>typed: ${typedIn(fields, 'word')}</p>`,
  });
  await using the = await openConsoleApp({}, { pages: [typed] });
  const answers = Promise.all([the.post({}, { word: 'first' }), the.post({}, { word: 'second' })]);
  await until('both wait', () => waiting === 2);

  shared.reject(new Error('The brokers do not answer.'));
  const [first, second] = await answers;
  expect(first.body).toContain('typed: first');
  expect(second.body).toContain('typed: second');
});

it('names in the title of a tab which of several things is shown, where there are some', async () => {
  const ours = definePage<object>({
    ...failing,
    data: async () => ({}),
    subject: ({ params: { name = '' } }) => (name === 'all' ? '' : name),
  });
  await using the = await openConsoleApp({}, { pages: [lists, ours] });
  const titleAt = async (name: string) =>
    /<title>(.*)<\/title>/.exec(
      (await the.app.inject({ url: `/lists/${encodeURIComponent(name)}`, headers: HTML })).body,
    )?.[1];
  expect(await titleAt('ours')).toBe('ours · A list · Hookline');
  expect(await titleAt('all')).toBe('A list · Hookline');
  expect(await titleAt('<b>')).toBe('&lt;b&gt; · A list · Hookline');
});

it('answers an address that cannot be decoded with a page, behind the same checks', async () => {
  await using the = await openConsoleApp({}, { pages: [lists, failing] });
  const at = (headers: object) => the.app.inject({ url: '/lists/%ff?q=1', headers: { ...HTML, ...headers } });
  const { statusCode, headers, body } = await at({});
  expect(statusCode).toBe(404);
  expect(body).toContain('There is no such page.');
  expect(headers['content-security-policy']).toContain("default-src 'none'");
  expect((await at({ host: 'evil.example' })).statusCode).toBe(403);
});

it('names after a change the command that does the same', async () => {
  await using the = await openConsoleApp();
  expect((await the.post({}, { word: 'new' }, '/words/others')).body).toContain(
    '<code>hookline words change new</code>',
  );
  expect((await the.post()).body).toContain('<code>hookline words </code>');
});

it('loads, runs, frames and posts to nothing but its own', async () => {
  await using the = await openConsoleApp();
  const { headers, body } = await the.app.inject({ url: '/words', headers: HTML });
  expect(headers['content-security-policy']).toBe(
    "default-src 'none';script-src 'self';style-src 'self';img-src 'self';connect-src 'self';form-action 'self';frame-ancestors 'none';base-uri 'none'",
  );
  expect(headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'cache-control': 'no-store',
    'referrer-policy': 'same-origin',
  });
  // What the policy would refuse: scripts, styles and handlers within the page.
  expect(body).not.toMatch(/<script(?![^>]*src=)|<style|\sstyle=|\son\w+=/);
  const [cookie] = [headers['set-cookie']].flat();
  expect(cookie).toMatch(/^hookline-csrf=[^;]+; Path=\/; HttpOnly; SameSite=Lax$/);
});

it('shows what is hostile as text', async () => {
  await using the = await openConsoleApp();
  const page = await the.app.inject({ url: `/words?q=${encodeURIComponent(HOSTILE)}`, headers: HTML });
  expect(page.body).not.toContain('<script>alert');
  expect(page.body).toContain('&lt;script&gt;alert(1)&lt;/script&gt;\\u202e');
  const lost = await the.app.inject({ url: `/${encodeURIComponent(HOSTILE)}`, headers: HTML });
  expect([lost.statusCode, lost.body.includes('alert')]).toEqual([404, false]);
});

it('takes a change only with the token of its form, JSON too', async () => {
  await using the = await openConsoleApp();
  expect((await the.post()).statusCode).toBe(200);
  const send = (headers: object, cookies = {}, payload: object = { word: 'x' }) =>
    the.app.inject({
      method: 'POST',
      url: '/words',
      headers: { ...LOCAL, accept: 'application/json', ...headers },
      cookies,
      payload,
    });
  expect((await send({})).statusCode).toBe(403);
  const { headers, cookies } = await the.app.inject({
    url: '/words',
    headers: { ...LOCAL, accept: 'application/json' },
  });
  const own = Object.fromEntries(cookies.map(({ name, value }) => [name, value]));
  const token = String(headers['csrf-token']);
  expect((await send({}, own)).statusCode).toBe(403);
  expect((await send({ 'csrf-token': `${token}x` }, own)).statusCode).toBe(403);
  // The token of one browser does not count in another.
  expect((await send({ 'csrf-token': token }, { 'hookline-csrf': 'another' })).statusCode).toBe(403);
  expect((await send({ 'csrf-token': token, 'sec-fetch-site': 'cross-site' }, own)).statusCode).toBe(403);
  expect((await send({ 'csrf-token': token }, own)).json()).toEqual({ word: 'x' });
  expect(the.made).toEqual([{ word: 'new' }, { word: 'x' }]);
});

it('answers on this machine alone by its own names, so that no website can read it through its visitors', async () => {
  await using the = await openConsoleApp();
  const at = async (host: string) => (await the.app.inject({ url: '/words', headers: { host } })).statusCode;
  expect(await Promise.all(['127.0.0.1:8070', 'localhost', '[::1]:8070'].map(at))).toEqual([200, 200, 200]);
  expect(await Promise.all(['evil.example', '10.0.0.1', '127.0.0.1.evil.example'].map(at))).toEqual([
    403, 403, 403,
  ]);
});

it('tells the address at which it is to be opened', async () => {
  for (const [CONSOLE_HOST, at] of [
    ['127.0.0.1', '127.0.0.1'],
    ['::1', '[::1]'],
  ] as const) {
    await using the = await openConsoleApp({ CONSOLE_HOST });
    const answer = await the.app.inject({ url: '/words', headers: { host: 'evil.example' } });
    expect(answer.body).toContain(`open it at ${at}.`);
  }
});

it('answers nothing that a page of another website loads, frames or counts in a name, but links lead here', async () => {
  await using the = await openConsoleApp({}, { perMinute: { all: 10, changes: 2 } });
  const from = async (site: string, mode: string, dest: string, url = '/words') => {
    const headers = { ...HTML, 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest };
    const { statusCode, headers: answered } = await the.app.inject({ url, headers });
    return answered.location ?? statusCode;
  };
  for (let n = 0; n < 20; n++) expect(await from('cross-site', 'navigate', 'iframe', '/secrets')).toBe(403);
  expect(await from('same-site', 'navigate', 'iframe')).toBe(403);
  expect(await from('cross-site', 'no-cors', 'image')).toBe(403);
  expect(await from('same-site', 'cors', 'empty')).toBe(403);
  expect(the.entries).toEqual([]);
  expect(await from('cross-site', 'navigate', 'document')).toBe(200);
  expect(await from('same-origin', 'cors', 'empty')).toBe(200);
  expect(await from('none', 'navigate', 'document')).toBe(200);
  // A link shows nothing that is masked, wherever it leads.
  const linked = (url: string) => from('cross-site', 'navigate', 'document', url);
  expect(await linked('/words?reveal=no&q=a%20b&%72eveal=yes')).toBe('/words?q=a+b');
  expect(await linked('/words/..//evil.example?reveal=yes')).toBe('/');
  expect([
    await linked('//'),
    await linked('//[/words?reveal=yes'),
    await from('cross-site', 'cors', 'empty', '//'),
  ]).toEqual(['/', '/', 403]);
  expect(the.log.lines()).toEqual([]);
  expect(await from('same-origin', 'navigate', 'document', '/words?reveal=yes')).toBe(200);
});

it('ends the connection of somebody who does not read the updates of a page', async () => {
  await using the = await openConsoleApp();
  await the.app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = the.app.server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  socket.pause();
  socket.write('GET /flood HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n');
  const connections = () =>
    new Promise<number>((resolve) => the.app.server.getConnections((_, count) => resolve(count)));
  await until('it is connected', async () => (await connections()) === 1);
  await until('it is cut off', async () => (await connections()) === 0, 15_000);
  socket.destroy();
});

it.each(['/livez', '/login', '/assets/console.css', '/words'])(
  'answers whoever is not known without reading their body: %s',
  async (path) => {
    await using the = await openConsoleApp(HEADER_MODE);
    await the.app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = the.app.server.address() as AddressInfo;
    const socket = connect(port, '127.0.0.1');
    const answer = new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))));
    const headers = 'Host: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 2000000';
    socket.write(`POST ${path} HTTP/1.1\r\n${headers}\r\n\r\n{`);
    expect(await answer).toMatch(/^HTTP\/1\.1 403 /);
    socket.destroy();
  },
);

it('bounds requests and changes of a user, and lets probes pass', async () => {
  await using the = await openConsoleApp({}, { perMinute: { all: 6, changes: 2 } });
  const posts = [await the.post(), await the.post(), await the.post()].map(({ statusCode }) => statusCode);
  expect(posts).toEqual([200, 200, 429]);
  const pages = await Promise.all([1, 2, 3, 4].map(() => the.app.inject({ url: '/words', headers: HTML })));
  expect(pages.filter(({ statusCode }) => statusCode === 429).length).toBeGreaterThan(0);
  for (let n = 0; n < 20; n++) expect((await the.app.inject({ url: '/livez' })).statusCode).toBe(200);
});

it('counts all changes of a user together, and those of another one apart', async () => {
  await using the = await openConsoleApp(HEADER_MODE, { perMinute: { all: 100, changes: 2 } });
  const change = async (name: string, path: string) => {
    const answer = await the.post(as(name, 'oncall'), { word: 'new' }, path);
    return answer.statusCode === 429 ? answer.body : answer.statusCode;
  };
  expect([await change('otto', '/words'), await change('otto', '/words/others')]).toEqual([200, 200]);
  expect(await change('otto', '/words/others')).toContain('may make 2 changes in a minute, of all kinds');
  expect(await change('otto', '/words')).toContain('wait');
  expect(await change('olga', '/words')).toBe(200);
});

it('lets one user have ten pages open that change, and others theirs', async () => {
  await using the = await openConsoleApp(HEADER_MODE);
  const url = await the.app.listen({ port: 0, host: '127.0.0.1' });
  const leaving = new AbortController();
  const open = async (name: string) => {
    const headers = { ...as(name, 'viewers'), accept: 'text/event-stream' };
    const answer = await fetch(`${url}/quiet`, { headers, signal: leaving.signal });
    return answer.ok ? answer.status : ((await answer.json()) as { message: string }).message;
  };
  for (let n = 0; n < 10; n++) expect(await open('vera')).toBe(200);
  expect(await open('vera')).toContain('vera has 10 pages open that change by themselves');
  expect(await open('vito')).toBe(200);
  leaving.abort();
  const later = new AbortController();
  const headers = { ...as('vera', 'viewers'), accept: 'text/event-stream' };
  await until(
    'there is room again',
    async () => (await fetch(`${url}/quiet`, { headers, signal: later.signal })).ok,
  );
  later.abort();
});

it('has its probes and its files, and nothing else of its folder', async () => {
  await using the = await openConsoleApp();
  const status = async (url: string) => (await the.app.inject({ url, headers: LOCAL })).statusCode;
  expect((await the.app.inject({ url: '/readyz' })).json()).toEqual({
    status: 'failing',
    reasons: { start: 'starting' },
  });
  expect(
    await Promise.all(
      ['console.js', 'console.css', 'icon.svg', 'uPlot.iife.min.js', 'uPlot.min.css'].map((name) =>
        status(`/assets/${name}`),
      ),
    ),
  ).toEqual([200, 200, 200, 200, 200]);
  expect(
    await Promise.all(
      ['uPlot.esm.js', '../main.ts', '%2e%2e/main.ts', ''].map((name) => status(`/assets/${name}`)),
    ),
  ).toEqual([404, 404, 404, 404]);
});

it('gives the page that says why somebody is refused its style, and nothing else', async () => {
  await using the = await openConsoleApp(HEADER_MODE);
  const status = async (url: string) =>
    (await the.app.inject({ url, headers: { accept: 'text/html' } })).statusCode;
  expect([
    await status('/words'),
    await status('/assets/console.css'),
    await status('/assets/../main.ts'),
  ]).toEqual([403, 200, 403]);
});

it('waits for one style before it paints, and stays below 200 kB with all that a page can load', async () => {
  await using the = await openConsoleApp();
  const page = await the.app.inject({ url: '/words', headers: HTML });
  const loaded = [...page.body.matchAll(/<[^>]*(?:href|src)="(\/assets\/[^"]+)"[^>]*>/g)];
  expect(loaded.map(([tag]) => tag)).toEqual([
    '<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">',
    '<link rel="stylesheet" href="/assets/console.css">',
    '<script src="/assets/console.js" defer>',
  ]);
  const plots = ['/assets/uPlot.iife.min.js', '/assets/uPlot.min.css'];
  const urls = [...loaded.map(([, url = '']) => url), ...plots];
  const sizes = await Promise.all(
    urls.map(async (url) => (await the.app.inject({ url, headers: LOCAL })).rawPayload.length),
  );
  expect(sizes.reduce((sum, size) => sum + size, page.rawPayload.length)).toBeLessThan(100_000);
});
