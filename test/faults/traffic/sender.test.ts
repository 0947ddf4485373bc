import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { until } from '../../support/until.ts';
import { Stored } from '../oracle/stored.ts';
import { Sender } from './sender.ts';
import { Webhooks } from './webhooks.ts';

const SEED = 1;
const servers: ReturnType<typeof createServer>[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

/** The events that a sender had acknowledged, from this number on. */
async function acknowledged(firstNumber: number): Promise<{ entity: number; number: number }[]> {
  const server = createServer((request, response) => request.resume().on('end', () => response.end('{}')));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const traffic = { url, seed: SEED, entities: 2, perSecond: 200, answersEventIds: false };
  const sender = new Sender({ ...traffic, answerWithinMs: 5_000, againAfterMs: 10, firstNumber });
  await until('some are acknowledged', () => sender.acked > 10, 10_000);
  return [...(await sender.stop()).answers];
}

it('a second load on the same topics has events of its own, so that those of the first do not stand for lost ones', async () => {
  const webhooks = new Webhooks(SEED);
  const stored = new Stored({ seed: SEED, checksIds: true });
  for (const { entity, number } of await acknowledged(0)) {
    const record = {
      eventId: webhooks.eventIdOf(entity, number),
      source: webhooks.messageOf(entity, number),
    };
    stored.add(record, `e-${entity}`);
  }
  const second = await acknowledged(100_000);
  expect(second.filter(({ entity, number }) => stored.has(entity, number))).toEqual([]);
});
