import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  request as ask,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { serve } from '../serve.ts';
import type { Identity } from './certificates.ts';
import type { TokenIssuer } from './token-issuer.ts';

/** A registry behind TLS and basic authentication, as a proxy in front of the real one makes it. */
export type SecureRegistry = AsyncDisposable & {
  readonly url: string;
  /** Who may ask, from now on. */
  allow(user: string, password: string): void;
  /** Shows another certificate to whoever connects from now on, and closes the connections that are open. */
  show(identity: Identity): void;
};

export async function startSecureRegistry(registryUrl: string, identity: Identity): Promise<SecureRegistry> {
  const behind = new URL(registryUrl);
  let authorization = '';
  const server = createServer(pemOf(identity), (request, response) => {
    if (request.headers.authorization !== authorization) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="registry"' }).end();
      return;
    }
    passOn(request, response, behind);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}${behind.pathname}`,
    allow(user, password) {
      authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
    },
    show(other) {
      server.setSecureContext(pemOf(other));
      server.closeAllConnections();
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/**
 * A registry that demands an access token, as a proxy in front of the real one makes it.
 * @param seen gets the headers of each request
 */
export async function startTokenRegistry(
  registryUrl: string,
  issuer: Pick<TokenIssuer, 'takes'>,
  seen: (headers: IncomingHttpHeaders) => void = () => {},
): Promise<{ readonly url: string } & AsyncDisposable> {
  const behind = new URL(registryUrl);
  const server = await serve(async (request, response) => {
    seen(request.headers);
    if (await issuer.takes(request.headers.authorization)) return passOn(request, response, behind);
    response.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).end();
  });
  return { url: `${server.url}${behind.pathname}`, [Symbol.asyncDispose]: server[Symbol.asyncDispose] };
}

function passOn(request: IncomingMessage, response: ServerResponse, behind: URL): void {
  const { method, headers } = request;
  const asked = ask(new URL(request.url ?? '/', behind), { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  asked.on('error', () => response.destroy());
  request.pipe(asked);
}

const pemOf = ({ certFile, keyFile }: Identity) => ({
  cert: readFileSync(certFile),
  key: readFileSync(keyFile),
});
