import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { HooklineError } from '../../src/core/errors.ts';
import { isProven } from '../../src/ingress/proven-connections.ts';
import { post, startIngressApp } from '../support/ingress-app.ts';

const body = '{"type":"payment-status"}';

it.each([
  ['right', 200, {}, true],
  ['right while nothing can be stored', 503, {}, true],
  ['wrong', 401, { 'x-signature-sha256': '0'.repeat(64) }, false],
])('a connection whose signature was %s', async (_, status, headers, proven) => {
  const publish = () => {
    if (status === 503) throw new HooklineError('PUBLISH_DEADLINE');
  };
  await using ingress = await startIngressApp({ publish });
  const requested = once(ingress.app.server, 'request') as Promise<[IncomingMessage]>;
  const response = await post(`${ingress.url}/webhooks/ledger-eu`, body, headers);
  const [{ socket }] = await requested;
  expect([response.status, isProven(socket)]).toEqual([status, proven]);
});
