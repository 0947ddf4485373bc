import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';

export type Received = {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly whole: boolean;
};

type Answer = number | ((response: ServerResponse, received: Received) => void);

/** A webhook receiver that keeps what it got and answers as told: a status, or by hand. 200 unless told otherwise. */
export async function openReceiver(options: { answer?: (n: number) => Answer; tls?: ServerOptions } = {}) {
  const received: Received[] = [];
  const sockets = new Set<unknown>();
  const { answer = () => 200, tls } = options;
  const server = tls ? createTlsServer(tls) : createServer();
  server.on('request', async (request, response) => {
    sockets.add(request.socket);
    const pieces: Buffer[] = [];
    const whole = await request
      .forEach((piece: Buffer) => void pieces.push(piece))
      .then(
        () => true,
        () => false,
      );
    const one = { headers: request.headers, body: Buffer.concat(pieces), whole };
    received.push(one);
    if (!whole) return;
    const said = answer(received.length);
    if (typeof said === 'function') return said(response, one);
    response.writeHead(said, { 'content-type': 'application/json' }).end(`{"said":${said}}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    received,
    sockets,
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}/webhooks/ledger`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
