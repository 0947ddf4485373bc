import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { openReceiver } from './support/open-receiver.ts';
import { clientOf, ENCRYPTION_KEY } from './support/open-sandbox.ts';

const MAIN = join(import.meta.dirname, '../../src/sandbox/main.ts');

function run(env: Record<string, string>) {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child: ChildProcess = spawn(process.execPath, [MAIN], { env: { PATH, NODE_COMPILE_CACHE, ...env } });
  const out = { text: '', errors: '' };
  child.stdout?.on('data', (piece) => {
    out.text += piece;
  });
  child.stderr?.on('data', (piece) => {
    out.errors += piece;
  });
  const lines = () =>
    out.text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  return { child, out, lines, ended: once(child, 'close') };
}

describe('the process', () => {
  it('says where it listens, logs changes and failures alone, and stops at a signal', async () => {
    await using receiver = await openReceiver({ answer: (n) => (n === 1 ? 410 : 200) });
    const { child, out, lines, ended } = run({ SANDBOX_PORT: '0' });
    const { url } = await until('it listens', () => lines().find((line) => line.msg === 'listening'));
    const sandbox = clientOf(url);
    const token = await sandbox.token();
    const json = { url: receiver.url, events: ['payment_status'], encryptionKey: ENCRYPTION_KEY };
    const { id, signingSecret } = (await sandbox.call('POST', '/subscriptions', { json, token })).json;
    await sandbox.trigger({ wait: 'final' });
    await sandbox.trigger({ wait: 'final', count: 20 });
    expect(receiver.received).toHaveLength(21);
    const path = `/subscription/${id}`;
    await sandbox.call('PUT', path, { json: { encryptionKey: ENCRYPTION_KEY }, token });
    await sandbox.call('DELETE', path, { token });
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    const messages = lines().map((line) => line.msg);
    expect(messages.slice(0, 5)).toEqual([
      'listening',
      'subscription created',
      'delivery failed after its last attempt',
      'subscription updated',
      'subscription deleted',
    ]);
    // These are written while the process exits, in no order that can be relied on.
    expect(['stopping', 'stopped']).toEqual(expect.arrayContaining(messages.slice(5)));
    expect(lines()[2]).toMatchObject({ level: 'warn', subscriptionId: id, status: 410, attempts: 1 });
    for (const secret of [signingSecret, ENCRYPTION_KEY, 'sandbox-lite-jwt', token]) {
      expect(out.text + out.errors).not.toContain(secret);
    }
  });

  it('exits with 78 and every fault, without a stack trace', async () => {
    const { out, ended } = run({ SANDBOX_PORT: 'x', SANDBOX_TOKEN_TTL_S: '0' });
    expect(await ended).toEqual([78, null]);
    expect(out.errors).toContain('has 2 faults');
    expect(out.errors).toContain('SANDBOX_PORT');
    expect(out.errors).toContain('SANDBOX_TOKEN_TTL_S');
    expect(out.errors).not.toContain('    at ');
  });
});
