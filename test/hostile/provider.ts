import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { Brokers } from '../support/topics-fixture.ts';
import { until } from '../support/until.ts';
import { type ControlRow, ControlTarget } from './control-target.ts';
import {
  answer,
  drip,
  endless,
  HostileProvider,
  type Misbehaviour,
  type Operation,
} from './hostile-provider.ts';

/** Control must stay below it, whatever the provider answers to all commands at once. */
const MOST_MIB = 600;
const DEADLINE_MS = 5_000;
/** A request that began before the deadline is waited for; the result is stored behind it. */
const GRACE_MS = 12_000;
const AT_ONCE = 16;

const CHUNKED = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n';
const UNENDED = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n';
const CHUNK = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(0x10000, 0x20), Buffer.from('\r\n')]);
const MEGABYTE = 1024 * 1024;

const GZIPPED = gzipSync(Buffer.alloc(256 * MEGABYTE, 0x20));
const DEEP = `${'['.repeat(3 * MEGABYTE)}${']'.repeat(3 * MEGABYTE)}`;
const DENSE = `[${'{},'.repeat(2.5 * MEGABYTE)}{}]`;
const LARGE = JSON.stringify(
  Array.from({ length: 20_000 }, (_, n) => ({
    id: `id-${n}`,
    url: `https://elsewhere.example/${'x'.repeat(300)}`,
    events: [],
  })),
);

type Attack = { readonly name: string; readonly at: Operation; readonly act: Misbehaviour };

const ATTACKS: readonly Attack[] = [
  { name: 'a list without an end', at: 'list', act: (socket) => endless(socket, CHUNKED, CHUNK) },
  { name: 'a list that drips', at: 'list', act: (socket) => drip(socket, CHUNKED, '1\r\n \r\n', 200) },
  { name: 'a list that never begins', at: 'list', act: () => {} },
  {
    name: 'a compressed list of 256 MiB',
    at: 'list',
    act: (socket) =>
      answer(socket, GZIPPED, 'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-type: application/json'),
  },
  { name: 'a list of three million levels', at: 'list', act: (socket) => answer(socket, DEEP) },
  { name: 'a list of two million empty objects', at: 'list', act: (socket) => answer(socket, DENSE) },
  { name: 'a list of 20,000 others', at: 'list', act: (socket) => answer(socket, LARGE) },
  {
    name: 'a list that contradicts itself',
    at: 'list',
    act: (socket) =>
      answer(socket, [
        { id: 'a', url: 'https://x' },
        { id: 'a', url: 'https://y' },
      ]),
  },
  {
    name: 'ids that lead elsewhere',
    at: 'list',
    act: (socket) =>
      answer(socket, [
        { id: '../oauth/token', url: 'https://x' },
        { id: '..', url: 'https://y' },
      ]),
  },
  {
    name: 'a page instead of a list',
    at: 'list',
    act: (socket) => answer(socket, '<html>', 'HTTP/1.1 200 OK\r\ncontent-type: text/html'),
  },
  {
    name: 'a redirect to itself',
    at: 'list',
    act: (socket, { url }) =>
      answer(socket, '', `HTTP/1.1 307 Temporary Redirect\r\nlocation: ${url}/subscriptions`),
  },
  {
    name: 'a redirect elsewhere',
    at: 'list',
    act: (socket, { url }) => answer(socket, '', `HTTP/1.1 302 Found\r\nlocation: ${url}/elsewhere`),
  },
  {
    name: 'headers without an end',
    at: 'list',
    act: (socket) => endless(socket, 'HTTP/1.1 200 OK\r\n', Buffer.from(`x-more: ${'x'.repeat(4_000)}\r\n`)),
  },
  {
    name: 'interim answers without an end',
    at: 'list',
    act: (socket) => drip(socket, '', 'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n', 50),
  },
  { name: 'no HTTP', at: 'list', act: (socket) => socket.end(Buffer.alloc(1_000, 0xff)) },
  { name: 'a creation without an end', at: 'create', act: (socket) => endless(socket, UNENDED, CHUNK) },
  {
    name: 'a creation with an id of a megabyte',
    at: 'create',
    act: (socket) => answer(socket, { id: 'x'.repeat(MEGABYTE), signingSecret: 'y' }),
  },
  {
    name: 'a creation with an id of another kind',
    at: 'create',
    act: (socket) => answer(socket, { id: { id: 1 }, signingSecret: [] }),
  },
  { name: 'a token without an end', at: 'token', act: (socket) => endless(socket, CHUNKED, CHUNK) },
  {
    name: 'a token of a megabyte',
    at: 'token',
    act: (socket) => answer(socket, { access_token: 'x'.repeat(MEGABYTE), expires_in: 1e300 }),
  },
  {
    name: 'a token that breaks out of its header',
    at: 'token',
    act: (socket) => answer(socket, { access_token: 'x\r\nx-evil: 1', expires_in: -1 }),
  },
  {
    name: 'a redirected token request',
    at: 'token',
    act: (socket, { url }) =>
      answer(socket, '', `HTTP/1.1 307 Temporary Redirect\r\nlocation: ${url}/elsewhere`),
  },
];

/** A few of each kind, for the short form. */
export const SHORT_FORM = ['a list without an end', 'a compressed list of 256 MiB', 'a token of a megabyte'];

/** Has a real control process carry out commands against a provider that attacks it. */
export async function attackByProvider({
  stack,
  only,
  deadlineMs = DEADLINE_MS,
  log,
}: {
  readonly stack: Brokers;
  /** Names of attacks; all where there are none. */
  readonly only?: readonly string[];
  /** What a command gets; most attacks take all of it. */
  readonly deadlineMs?: number;
  readonly log: (line: string) => void;
}): Promise<readonly ControlRow[]> {
  const rows: ControlRow[] = [];
  for (const attack of ATTACKS.filter(({ name }) => only?.includes(name) ?? true)) {
    // Of its own, so that memory is the attack's, and no token and no subscription is left from the one before.
    await using provider = await HostileProvider.start();
    await using target = await ControlTarget.start(
      stack,
      { COMMAND_DEADLINE_MS: String(deadlineMs) },
      provider.url,
    );
    const row = await attackWith(target, provider, attack, deadlineMs);
    rows.push(row);
    log(`${row.ok ? 'ok    ' : 'FAILED'} ${row.attack}: ${row.outcome}, ${row.peakMemoryMiB} MiB`);
  }
  return rows;
}

/**
 * The breaker asks the provider again every 5 s at most, and a command of the short form has only 2: the first ones may come
 * to nothing.
 */
async function honestly(target: ControlTarget): Promise<string> {
  const command = { type: 'subscription.create', ref: 'honest', events: ['payment_status'] };
  let outcome = '';
  for (let tries = 0; tries < 4 && outcome !== 'SUCCEEDED'; tries++) outcome = await target.honest(command);
  return outcome;
}

async function attackWith(
  target: ControlTarget,
  provider: HostileProvider,
  { name, at, act }: Attack,
  deadlineMs: number,
): Promise<ControlRow> {
  provider.seen.length = 0;
  provider.misbehaves.set(at, act);
  const ids = Array.from({ length: AT_ONCE }, (): string => randomUUID());
  try {
    await target.send(
      ids.map((commandId, n) => {
        const command = {
          commandId,
          type: 'subscription.create',
          ref: `team-${n}`,
          events: ['payment_status'],
        };
        return { key: `team-${n}`, value: Buffer.from(JSON.stringify(command)) };
      }),
    );
    const results = await until(
      'each command has its result',
      async () => {
        const seen = (await target.results()).filter(({ commandId }) => ids.includes(commandId));
        return seen.length >= AT_ONCE && seen;
      },
      deadlineMs + GRACE_MS + 30_000,
    );
    provider.misbehaves.clear();
    const honest = await honestly(target);
    const longest = Math.max(...results.map(({ receivedAt, finishedAt }) => finishedAt - receivedAt));
    const codes = [...new Set(results.map(({ status, errorCode }) => errorCode ?? status))].join(', ');
    const elsewhere = provider.seen.filter((request) => request.includes('elsewhere')).length;
    const peakMemoryMiB = target.peakMiB();
    return {
      attack: name,
      outcome: `${codes} after at most ${(longest / 1_000).toFixed(1)} s, ${elsewhere} requests led elsewhere; the next command ${honest}`,
      peakMemoryMiB,
      ok:
        honest === 'SUCCEEDED' &&
        results.length === AT_ONCE &&
        longest < deadlineMs + GRACE_MS &&
        elsewhere === 0 &&
        peakMemoryMiB < MOST_MIB,
    };
  } catch (error) {
    return { attack: name, outcome: (error as Error).message, peakMemoryMiB: Number.NaN, ok: false };
  } finally {
    provider.misbehaves.clear();
  }
}
