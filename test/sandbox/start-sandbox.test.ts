import { describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/runtime/clock.ts';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { hasIpv6, NEEDS_IPV6 } from '../support/ip-families.ts';
import { until } from '../support/until.ts';
import { openReceiver } from './support/open-receiver.ts';
import { openSandbox } from './support/open-sandbox.ts';

describe('startSandbox', () => {
  it('takes a free port and names an address that can be called', async () => {
    const sandbox = await startSandbox({ port: 0, host: '0.0.0.0' });
    expect(sandbox.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await fetch(`${sandbox.url}/livez`)).status).toBe(200);
    const stopped = sandbox.stop();
    expect(sandbox.stop()).toBe(stopped);
    await stopped;
    await expect(fetch(`${sandbox.url}/livez`)).rejects.toThrow();
  });

  it.skipIf(!hasIpv6)(`names an address of its family${NEEDS_IPV6}`, async () => {
    for (const [host, url] of [
      ['::1', /^http:\/\/\[::1\]:\d+$/],
      ['::', /^http:\/\/localhost:\d+$/],
    ] as const) {
      const sandbox = await startSandbox({ port: 0, host });
      expect(sandbox.url).toMatch(url);
      expect((await fetch(`${sandbox.url}/livez`)).status).toBe(200);
      await sandbox.stop();
    }
  });

  it('fails where the port is taken, and leaves nothing behind', async () => {
    await using first = await openSandbox();
    const port = Number(new URL(first.url).port);
    await expect(startSandbox({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('stops with deliveries under way, retries waiting and requests hanging', async () => {
    await using silent = await openReceiver({ answer: () => () => {} });
    await using failing = await openReceiver({ answer: () => 503 });
    let asleep = 0;
    const clock = {
      ...systemClock,
      sleep: async (...given: Parameters<Clock['sleep']>) => {
        asleep += 1;
        await systemClock.sleep(...given).finally(() => {
          asleep -= 1;
        });
      },
    };
    const sandbox = await openSandbox({ retryScheduleS: [3600], deliveryTimeoutMs: 60_000, clock });
    await sandbox.seed(silent.url);
    await sandbox.seed(failing.url);
    await sandbox.trigger({ count: 100, rate: 1000 });
    const token = await sandbox.token();
    await sandbox.fail(
      { operation: 'token', kind: 'hang' },
      { operation: 'list', kind: 'delay', ms: 600_000 },
    );
    const hanging = [sandbox.token(), sandbox.call('GET', '/subscriptions', { token })].map((one) =>
      one.then(
        () => 'answered',
        () => 'cut',
      ),
    );
    await until('all of it hangs', async () => {
      const { json } = await sandbox.call('GET', '/_sandbox/faults');
      const hits = json.reduce((sum: number, rule: { hits: number }) => sum + rule.hits, 0);
      return hits === 2 && silent.received.length > 5 && failing.received.length > 5;
    });
    await sandbox.stop();
    expect(await Promise.all(hanging)).toEqual(['cut', 'cut']);
    expect(asleep).toBe(0);
  });
});
