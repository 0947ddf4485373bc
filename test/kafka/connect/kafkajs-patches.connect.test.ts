import '../../../src/kafka/connect/client-patches.ts';
import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';

afterEach(() => vi.useRealTimers());

type Connection = {
  connect(): Promise<boolean>;
  isConnected(): boolean;
  disconnect(): Promise<boolean>;
  readonly socket: Socket | null;
};
type MakeSocket = (options: { onConnect: () => void }) => EventEmitter;

const Connection = createRequire(import.meta.url)('kafkajs/src/network/connection.js') as new (
  options: object,
) => Connection;

/** A socket that is connected in the next turn. */
function open({ enforceRequestTimeout = false } = {}) {
  const made: EventEmitter[] = [];
  const socketFactory: MakeSocket = ({ onConnect }) => {
    const socket = Object.assign(new EventEmitter(), { end() {}, unref() {}, setKeepAlive() {} });
    made.push(socket);
    setImmediate(onConnect);
    return socket;
  };
  const log = { debug() {}, info() {}, error() {} };
  const logger = { namespace: () => log };
  const rest = { enforceRequestTimeout, connectionTimeout: 1_000, requestTimeout: 1_000 };
  return { made, connection: new Connection({ host: 'b', port: 1, logger, socketFactory, ...rest }) };
}

it('requests that find a connection closed at the same time make one of it', async () => {
  const { made, connection } = open();
  await Promise.all([connection.connect(), connection.connect()]);
  expect([made.length, connection.isConnected()]).toEqual([1, true]);
  await connection.connect();
  expect(made).toHaveLength(1);
});

it('one whose socket this process destroys is over: nothing is looked for in it any more', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const { made, connection } = open({ enforceRequestTimeout: true });
  await connection.connect();
  expect([connection.isConnected(), vi.getTimerCount()]).toEqual([true, 1]);
  made[0]?.emit('close');
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(0));
  expect(connection.isConnected()).toBe(false);
  await connection.connect();
  expect([made.length, connection.isConnected()]).toEqual([2, true]);
});

it('a login under way fails with the socket that this process destroys', async () => {
  const { made, connection } = open();
  await connection.connect();
  const onError = vi.fn(() => Object.assign(connection, { authHandlers: null }));
  Object.assign(connection, { authHandlers: { onError } });
  made[0]?.emit('close');
  expect(onError).toHaveBeenCalledOnce();
});

it('one that is given up before it is made is not made later', async () => {
  const sockets: { onConnect: () => void; destroyed: boolean }[] = [];
  const socketFactory = ({ onConnect }: { onConnect: () => void }) => {
    const one = { onConnect, destroyed: false };
    sockets.push(one);
    const destroy = () => {
      one.destroyed = true;
    };
    return Object.assign(new EventEmitter(), { end() {}, unref() {}, setKeepAlive() {}, destroy });
  };
  const log = { debug() {}, info() {}, error() {} };
  const rest = { logger: { namespace: () => log }, connectionTimeout: 5, requestTimeout: 1_000 };
  const connection = new Connection({ host: 'b', port: 1, socketFactory, ...rest });
  await expect(connection.connect()).rejects.toThrow('Connection timeout');
  await expect(connection.connect()).rejects.toThrow('Connection timeout');
  // As Node does it: a socket that is destroyed is not connected any more.
  for (const { destroyed, onConnect } of sockets) if (!destroyed) onConnect();
  expect([sockets.length, connection.isConnected()]).toEqual([2, false]);
});

it('one that is closed again and again while its broker is unavailable keeps no listeners', async () => {
  const closed = Promise.withResolvers<void>();
  const socketFactory = () => connect({ host: '127.0.0.1', port: 9 }).once('close', () => closed.resolve());
  const log = { debug() {}, info() {}, error() {} };
  const rest = { logger: { namespace: () => log }, connectionTimeout: 1_000, requestTimeout: 1_000 };
  const connection = new Connection({ host: 'b', port: 1, socketFactory, ...rest });
  await expect(connection.connect()).rejects.toThrow('ECONNREFUSED');
  await closed.promise;
  const before = connection.socket?.listenerCount('connect');
  for (let n = 0; n < 12; n++) await connection.disconnect();
  expect(connection.socket?.listenerCount('connect')).toBe(before);
});
