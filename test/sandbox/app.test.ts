import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { createSandboxApp } from '../../src/sandbox/app.ts';
import { createSandboxComponents } from '../../src/sandbox/components.ts';
import { defaultOptions } from '../../src/sandbox/config.ts';
import { openReceiverClient } from '../../src/sandbox/deliveries/send-attempt.ts';

function build() {
  const options = defaultOptions();
  const client = openReceiverClient({ tls: options.tls, connections: 1, timeoutMs: 1000 });
  const logger = createLogger({ name: 'sandbox', level: 'silent' });
  return createSandboxApp(createSandboxComponents({ options, logger, clock: systemClock, client }));
}

describe('the app without a listener', () => {
  it('is alive', async () => {
    const answer = await build().inject('/livez');
    expect([answer.statusCode, answer.json()]).toEqual([200, { status: 'ok' }]);
  });

  it.each([
    ['GET', '/', 404, 'not_found'],
    ['HEAD', '/subscriptions', 404, 'not_found'],
    ['GET', '/%zz', 400, 'invalid_request'],
    ['GET', '/_sandbox/nothing', 404, 'not_found'],
  ] as const)('%s %s is refused in the one shape', async (method, url, status, error) => {
    const answer = await build().inject({ method, url });
    expect(answer.statusCode).toBe(status);
    if (method !== 'HEAD') {
      expect(Object.keys(answer.json())).toEqual(['error', 'message']);
      expect(answer.json().error).toBe(error);
    }
  });

  it('takes no more than 1 MiB for an operation', async () => {
    const answer = await build().inject({
      method: 'POST',
      url: '/oauth/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'x'.repeat(1_100_000),
    });
    expect([answer.statusCode, answer.json().error]).toEqual([413, 'body_too_large']);
  });

  it('says nothing of what broke inside', async () => {
    const app = build();
    app.get('/broken', async () => {
      throw new Error('the password is 1234');
    });
    const answer = await app.inject('/broken');
    expect(answer.statusCode).toBe(500);
    expect(answer.json()).toEqual({
      error: 'internal_error',
      message: 'The sandbox failed; its log says why.',
    });
  });
});
