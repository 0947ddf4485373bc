import { connect as connectPlain, isIP, Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type kafkajs from 'kafkajs';
import { type KafkaConnection, refusalOf } from './connection.ts';

const KEEP_ALIVE_MS = 60_000;

/**
 * How kafkajs comes by its connections: with certificates as their files are at that moment. Without TLS it is told
 * what a TLS alert is: it would take it for the length of an answer, and say no more than that the connection is closed.
 */
export function createSockets(connection: KafkaConnection): kafkajs.ISocketFactory {
  const { tls } = connection;
  return ({ host, port, onConnect }) => {
    const refusal = refusalOf(connection, host);
    // The client listens for errors of the socket once it has it: this one comes a tick later.
    if (refusal) return new Socket().destroy(refusal);
    const socket = tls
      ? connectTls(
          { host, port, secureContext: tls().context, ...(isIP(host) === 0 && { servername: host }) },
          onConnect,
        )
      : connectPlain({ host, port }, onConnect);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    if (!tls) refuseTls(socket);
    return socket;
  };
}

function refuseTls(socket: Socket): void {
  socket.once('data', (chunk) => {
    const isAlert = chunk[0] === 0x15 && chunk[1] === 0x03;
    if (isAlert) socket.destroy(Object.assign(new Error('TLS is spoken there'), { code: 'SPEAKS_TLS' }));
  });
}
