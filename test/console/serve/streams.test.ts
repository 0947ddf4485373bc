import { mkdtempSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openOidc } from '../../../src/console/access/open-oidc.ts';
import { createSessions, type Sessions } from '../../../src/console/access/sessions.ts';
import { html } from '../../../src/console/page/html.ts';
import { definePage } from '../../../src/console/page/page.ts';
import { randomKey } from '../../../src/crypto/keys.ts';
import { capturedLog } from '../../support/captured-log.ts';
import { openConsoleApp } from '../../support/console-app.ts';
import { until } from '../../support/until.ts';

/** A console with logins, and the cookie of somebody who has logged in. */
async function openLoggedIn(around: (sessions: Sessions) => Sessions) {
  const secretFile = join(mkdtempSync(join(tmpdir(), 'console-')), 'secret');
  writeFileSync(secretFile, 'x'.repeat(40));
  const env = {
    CONSOLE_OIDC_ISSUER: 'http://127.0.0.1:9',
    CONSOLE_OIDC_CLIENT_ID: 'console',
    CONSOLE_OIDC_CLIENT_SECRET_FILE: secretFile,
    CONSOLE_ROLES: 'viewers=view',
  };
  const { settings, ...probe } = await openConsoleApp(env);
  await probe[Symbol.asyncDispose]();
  const key = randomKey();
  const sessions = createSessions({ key: () => key, isSecure: false, groups: ['viewers'] });
  let cookie = '';
  const reply = {
    setCookie(name: string, value: string) {
      cookie = `${name}=${value}`;
    },
  };
  await sessions.begin(reply as never, { name: 'vera', groups: ['viewers'] });
  const oidc = openOidc(settings, () => 'x'.repeat(40));
  const { logger } = capturedLog();
  const login = { oidc, sessions: around(sessions), publicUrl: undefined, logger };
  return { the: await openConsoleApp(env, { login }), cookie };
}

it('keeps no place for a reader who left before it was known who they are', async () => {
  let left = 0;
  const { the, cookie } = await openLoggedIn((sessions) => ({
    ...sessions,
    async read(request) {
      if (request.headers['x-leaves'] !== undefined) {
        await until('the reader has left', () => request.raw.socket.destroyed);
        left++;
      }
      return sessions.read(request);
    },
  }));
  await using _ = the;
  await the.app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = the.app.server.address() as AddressInfo;
  for (let n = 0; n < 10; n++) {
    const socket = connect(port, '127.0.0.1');
    const lines = ['GET /quiet HTTP/1.1', 'Host: 127.0.0.1', 'Accept: text/event-stream', 'X-Leaves: 1'];
    socket.write([...lines, `Cookie: ${cookie}`, '', ''].join('\r\n'), () =>
      setTimeout(() => socket.resetAndDestroy(), 20),
    );
  }
  await until('all have left', () => left === 10);
  const leaving = new AbortController();
  const headers = { accept: 'text/event-stream', cookie };
  // Node closes the connection of an answer that nobody holds any more.
  const held: Response[] = [];
  const read = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/quiet`, { headers, signal: leaving.signal });
    held.push(answer);
    return answer.status;
  };
  // The last of them may be about to be told that its reader has left.
  for (let n = 0; n < 10; n++) await until('there is a place', async () => (await read()) === 200);
  expect(await read()).toBe(429);
  leaving.abort();
});

it('says why the updates of a page ended', async () => {
  const failing = definePage<object>({
    path: '/failing',
    title: 'Failing',
    role: 'view',
    cli: () => 'hookline',
    data: async () => ({}),
    render: () => html`<p></p>`,
    // biome-ignore lint/correctness/useYield: it fails before
    async *live() {
      throw new Error('no broker answers');
    },
  });
  await using the = await openConsoleApp({}, { pages: [failing] });
  const headers = { host: '127.0.0.1', accept: 'text/event-stream' };
  const { body } = await the.app.inject({ url: '/failing', headers });
  expect(body).toBe('retry: 1000\n\nevent: failed\ndata: "no broker answers"\n\n');
});
