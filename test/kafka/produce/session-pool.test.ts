import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { openProducerSession, type ProducerSession } from '../../../src/kafka/produce/producer-session.ts';
import { SessionPool } from '../../../src/kafka/produce/session-pool.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { manualClock } from '../../support/manual-clock.ts';

it('an attempt over brokers that accept connections and answer nothing names them, and the remedy', async () => {
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => sockets.add(socket.on('error', () => {}))).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const broker = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const connection = { brokers: [broker], tls: undefined, sasl: undefined } as never;
  const settings = { clientId: 'test', clock: systemClock, requestTimeoutMs: 10_000 };
  const pool = new SessionPool({
    open: (rotation) => openProducerSession(connection, { ...settings, rotation }),
    attemptMs: 300,
    clock: systemClock,
    onOpened() {},
    onOpenFailed() {},
  });
  const failure = await pool.attempt((session) => session.partitionsOf('t')).catch((error) => error);
  pool.close();
  for (const socket of sockets) socket.destroy();
  silent.close();
  expect(failure).toMatchObject({
    outcome: 'unknown',
    message: `KAFKA_UNAVAILABLE: the brokers cannot be reached (${broker}: no answer in time): check that it runs, and check KAFKA_BROKERS and the network between`,
  });
});

it('the load of a pool is what its attempts in progress have waited, whatever has ended since', async () => {
  const clock = manualClock();
  const session = { destroy() {} } as ProducerSession;
  const pool = new SessionPool({ open: () => session, clock, onOpened() {}, onOpenFailed() {} });
  const ends = [0, 1, 2].map(() => Promise.withResolvers<void>());
  const attempts: Promise<void>[] = [];
  for (const { promise } of ends) {
    await clock.advance(100);
    attempts.push(pool.attempt(() => promise));
  }
  expect(pool.loadAt(clock.now())).toBe(201 + 101 + 1);
  ends[0]?.resolve();
  await attempts[0];
  expect(pool.loadAt(clock.now())).toBe(101 + 1);
  for (const { resolve } of ends) resolve();
  await Promise.all(attempts);
  expect(pool.loadAt(clock.now())).toBe(0);
  pool.close();
});
