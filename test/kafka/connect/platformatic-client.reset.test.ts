import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect as connectTcp, createServer as createTcp, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls, createServer as createTls } from 'node:tls';
import { expect, it } from 'vitest';
import { resetSocket, WatchedClient } from '../../../src/kafka/connect/platformatic-client.ts';
import { selfSigned } from '../../support/certificates.ts';
import { until } from '../../support/until.ts';

/** More than two machines keep of a connection whose server reads nothing. */
const WRITTEN = 16_000_000;
/** Less than that: the client's socket has nothing more to write. */
const TAKEN_WHOLE = 100_000;
/** So much that the client's machine takes it, and the server's does not. */
const TAKEN_HERE = 2_000_000;

/** What sockets of Node are above: a TLS socket above one of TCP. */
type Reading = { readonly _handle: { readonly _parent?: { readStop(): void; readStart(): void } } };

/** A server that reads nothing until it is told to, and a client that has written to it. */
async function open(kind: 'TCP' | 'TLS', written = WRITTEN) {
  using certificate = selfSigned();
  const accepted = Promise.withResolvers<Socket>();
  const files = { cert: readFileSync(certificate.certFile), key: readFileSync(certificate.keyFile) };
  const server = kind === 'TLS' ? createTls(files, accepted.resolve) : createTcp(accepted.resolve);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const where = { port: (server.address() as AddressInfo).port, host: '127.0.0.1' };
  const socket = kind === 'TLS' ? connectTls({ ...where, rejectUnauthorized: false }) : connectTcp(where);
  const served = await accepted.promise;
  const below = (served as unknown as Reading)._handle._parent;
  served.pause();
  below?.readStop();
  const seen = { bytes: 0, error: '', isOver: false, isClosed: false };
  served.on('data', ({ length }: Buffer) => {
    seen.bytes += length;
  });
  served.on('error', ({ code }: NodeJS.ErrnoException) => {
    seen.error = String(code);
  });
  served.on('close', () => {
    seen.isOver = true;
  });
  socket.on('close', () => {
    seen.isClosed = true;
  });
  socket.on('error', () => {});
  socket.write(Buffer.alloc(written));
  // The machines take what they keep.
  await sleep(200);
  return {
    socket,
    seen,
    read() {
      served.resume();
      below?.readStart();
      return until('the server has read to the end', () => seen.isOver);
    },
    [Symbol.dispose]() {
      served.destroy();
      server.close();
    },
  };
}

async function expectReset(connection: Awaited<ReturnType<typeof open>>): Promise<void> {
  await until('the client says that it is closed', () => connection.seen.isClosed);
  await connection.read();
  // Destroyed it would have been all that the machines had taken: 4 MB.
  expect(connection.seen).toMatchObject({ error: 'ECONNRESET' });
  expect(connection.seen.bytes).toBeLessThan(1_000_000);
}

it.each(['TCP', 'TLS'] as const)('of %s: what the machine has still to send is not sent', async (kind) => {
  using connection = await open(kind);
  resetSocket(connection.socket);
  await expectReset(connection);
});

it.each(['TCP', 'TLS'] as const)(
  'of %s: nothing more is sent when the client itself gives the connection up, as a request was not answered in time',
  async (kind) => {
    using connection = await open(kind);
    const connections = new EventEmitter();
    const settings = { brokers: ['broker:9092'], tls: undefined, sasl: undefined, loopbackOnly: false };
    new WatchedClient({ connections } as never, settings);
    const made = Object.assign(new EventEmitter(), { socket: connection.socket });
    connections.emit('connecting', { broker: { host: 'broker', port: 9092 }, connection: made });
    await sleep(0);
    connection.socket.destroy();
    await expectReset(connection);
  },
);

it.each(['TCP', 'TLS'] as const)(
  'of %s: nothing more is sent of what the machine has taken whole, when the client is destroyed, and it is closed',
  async (kind) => {
    using connection = await open(kind, TAKEN_WHOLE);
    const connections = new EventEmitter();
    const settings = { brokers: ['broker:9092'], tls: undefined, sasl: undefined, loopbackOnly: false };
    const close = async () => connection.socket.destroySoon();
    const client = new WatchedClient({ connections, close } as never, settings);
    const made = Object.assign(new EventEmitter(), { socket: connection.socket });
    connections.emit('connecting', { broker: { host: 'broker', port: 9092 }, connection: made });
    await sleep(0);
    client.destroy();
    await expectReset(connection);
  },
);

it.each(['TCP', 'TLS'] as const)(
  'of %s: nothing more is sent of what is written already, where its end waits behind that',
  async (kind) => {
    using connection = await open(kind);
    connection.socket.end();
    resetSocket(connection.socket);
    await expectReset(connection);
  },
);

it.each(['TCP', 'TLS'] as const)(
  'of %s: nothing more is sent where the machine has taken its end too',
  async (kind) => {
    using connection = await open(kind, TAKEN_HERE);
    const { socket } = connection;
    await new Promise<void>((resolve) => socket.end(resolve));
    resetSocket(socket);
    await expectReset(connection);
  },
);

it.each(['TCP', 'TLS'] as const)('of %s: one whose end is being sent is closed', async (kind) => {
  using connection = await open(kind, TAKEN_WHOLE);
  connection.socket.end();
  resetSocket(connection.socket);
  await until('the client says that it is closed', () => connection.seen.isClosed);
});

it.each(['TCP', 'TLS'] as const)(
  'of %s: one that is not connected yet, or has ended, is closed',
  async (kind) => {
    const where = { port: 1, host: '127.0.0.1' };
    const socket = kind === 'TLS' ? connectTls(where) : connectTcp(where);
    socket.on('error', () => {});
    const closed = new Promise((resolve) => socket.once('close', resolve));
    resetSocket(socket);
    await closed;
    resetSocket(socket);
    expect(socket.destroyed).toBe(true);
  },
);
