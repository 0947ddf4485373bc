import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { Spool } from '../../src/spool/spool.ts';
import { cliUntil } from '../support/cli.ts';
import { RunningProcess } from '../support/running-process.ts';
import { serve } from '../support/serve.ts';

/** Brokers that accept connections and answer nothing: the clients ask them for most of ten seconds. */
async function silentBrokers(onAsked: () => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    socket.once('data', onAsked);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** No time-out of a client ends anything: what waits for one would wait for ever. */
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval'] }));
afterEach(() => void vi.useRealTimers());

const dir = mkdtempSync(join(tmpdir(), 'hookline-interrupted-'));
afterAll(() => {
  rmSync(dir, { recursive: true });
  vi.unstubAllEnvs();
});
mkdirSync(join(dir, 'hookline-probe'));
for (const name of ['subscription-id', 'signing-secret'])
  writeFileSync(join(dir, 'hookline-probe', name), 'a'.repeat(36));
const file = join(dir, 'subscriptions.yaml');
writeFileSync(file, 'subscriptions:\n  ledger-eu:\n    events: [payment-status]\n');
const spool = join(dir, 'spool');
const opened = { clock: systemClock, dir: spool, maxBytes: 1e9, sealingKeys: undefined, onDeath() {} };
await (await Spool.open(opened)).close();
const argsOf = (line: string, url = '') =>
  line.replace('SPOOL', spool).replace('FILE', file).replace('URL', url).split(' ');

it.each([
  'tail commands',
  'tail commands --from-beginning',
  'inspect ledger-eu',
  'topics plan',
  'topics apply',
  'doctor',
  'dlq list',
  'dlq show 0:1',
  'dlq redrive',
  'dlq redrive --dry-run',
  'dlq dismiss --reason known',
  'verify',
  'spool drain --dir SPOOL',
])('hookline %s ends at Ctrl-C while the brokers answer nothing, exit code 1', async (line) => {
  const asked = new AbortController();
  await using brokers = await silentBrokers(() => asked.abort(new Error('interrupted')));
  await using registry = await serve((_, reply) => reply.end('{"id":1,"version":1}'));
  const env = { KAFKA_BROKERS: brokers.address, SCHEMA_REGISTRY_URL: registry.url, SECRETS_DIR: dir };
  const ended = cliUntil(asked.signal, env, ...argsOf(line));
  await endsInterrupted(ended);
});

async function endsInterrupted(ended: ReturnType<typeof cliUntil>, code = 1) {
  const { exitCode, out, notes } = await ended;
  expect([exitCode, out, notes]).toEqual([code, '', 'hookline: interrupted']);
}

it('hookline bodies check ends so too, and says that it could not check', async () => {
  const asked = new AbortController();
  await using brokers = await silentBrokers(() => asked.abort(new Error('interrupted')));
  await using registry = await serve((_, reply) => reply.end('{"id":1,"version":1}'));
  await using store = await serve((_, reply) =>
    reply.end('<ListBucketResult><Name>bodies</Name><KeyCount>0</KeyCount></ListBucketResult>'),
  );
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'key');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
  const env = {
    KAFKA_BROKERS: brokers.address,
    SCHEMA_REGISTRY_URL: registry.url,
    BODY_STORE: 's3://bodies/p',
    BODY_STORE_ENDPOINT: store.url,
    BODY_STORE_REGION: 'eu-west-1',
  };
  await endsInterrupted(cliUntil(asked.signal, env, 'bodies', 'check'), 3);
});

it.each([
  'schemas check',
  'schemas push',
  'schemas diff',
  'command subscription.list --wait',
  'subscriptions plan --file FILE',
  'spool drain --dir SPOOL',
  'keys status --ingress URL',
])('hookline %s ends at Ctrl-C while the schema registry, or ingress, does not answer', async (line) => {
  const asked = new AbortController();
  await using registry = await serve(() => asked.abort(new Error('interrupted')));
  const env = { KAFKA_BROKERS: '127.0.0.1:9', SCHEMA_REGISTRY_URL: registry.url, SECRETS_DIR: dir };
  const args = argsOf(line, registry.url);
  await endsInterrupted(cliUntil(asked.signal, env, ...args));
});

it('hookline schemas push --major ends at Ctrl-C when the subject that it moves over has its rule again, and begins no other', async () => {
  const asked = new AbortController();
  const rules: string[] = [];
  let isRegistered = false;
  await using registry = await serve(async (request, reply) => {
    const { method, url = '' } = request;
    const [, level] = /"compatibility":"(\w+)"/.exec(await text(request)) ?? [];
    if (level !== undefined) rules.push(level);
    if (level === 'NONE') asked.abort(new Error('interrupted'));
    if (method === 'POST' && url.endsWith('/versions')) isRegistered = true;
    const isKnown = isRegistered || method !== 'POST' || url.startsWith('/compatibility');
    const answer = method === 'GET' ? '[1]' : '{"id":1,"version":1,"is_compatible":false}';
    reply.writeHead(isKnown ? 200 : 404).end(isKnown ? answer : '{"error_code":40403}');
  });
  const env = { KAFKA_BROKERS: '127.0.0.1:9', SCHEMA_REGISTRY_URL: registry.url };
  await endsInterrupted(cliUntil(asked.signal, env, 'schemas', 'push', '--major'));
  expect(rules).toEqual(['FULL_TRANSITIVE', 'NONE', 'FULL_TRANSITIVE']);
});

it.each(['SIGINT', 'SIGTERM'] as const)('as a process too, at %s', async (signal) => {
  const asked = Promise.withResolvers<void>();
  await using brokers = await silentBrokers(asked.resolve);
  const env = { KAFKA_BROKERS: brokers.address, SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9' };
  const plan = new RunningProcess('src/cli/main.ts', env, ['topics', 'plan']);
  const ended = plan.end();
  await Promise.race([asked.promise, ended]);
  plan.kill(signal);
  expect([await ended, plan.errors]).toEqual([1, ['hookline: interrupted']]);
});
