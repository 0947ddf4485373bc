import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';
import { expect, it } from 'vitest';
import { HooklineError } from '../../../src/core/errors.ts';
import { markProven, markRefuted, trustOf } from '../../../src/ingress/body/open-bodies.ts';
import { post, startIngressApp } from '../../support/ingress-app.ts';

const body = '{"type":"payment-status"}';

it.each([
  ['right', 200, {}, 'proven'],
  ['right while nothing can be stored', 503, {}, 'proven'],
  ['wrong', 401, { 'x-signature-sha256': '0'.repeat(64) }, 'refuted'],
  ['missing', 401, { 'x-signature-sha256': '' }, 'refuted'],
])('a connection whose signature was %s', async (_, status, headers, standing) => {
  const publish = () => {
    if (status === 503) throw new HooklineError('PUBLISH_DEADLINE');
  };
  await using ingress = await startIngressApp({ publish });
  const requested = once(ingress.app.server, 'request') as Promise<[IncomingMessage]>;
  const response = await post(`${ingress.url}/webhooks/ledger-eu`, body, headers);
  const [{ socket }] = await requested;
  expect([response.status, trustOf(socket)]).toEqual([status, standing]);
});

it('a connection that was proven stays so, and one that was refuted can be proven', () => {
  const socket = new Duplex();
  expect(trustOf(socket)).toBe('unknown');
  markRefuted(socket);
  markProven(socket);
  markRefuted(socket);
  expect(trustOf(socket)).toBe('proven');
});
