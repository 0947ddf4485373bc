import { type AgentOptions, Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP, type Socket } from 'node:net';
import { urlHost, withoutBrackets } from '../config/networks.ts';
import { type HttpProxy, type ProxySettings, proxyTo } from '../config/proxy.ts';
import { connectionFaultOf, explainFault, type OtherSide, ProxyFault } from './connection-fault.ts';
import { request as httpRequest } from './node-http.ts';

const PROXY: OtherSide = {
  name: 'the proxy',
  address: 'HTTPS_PROXY',
  ca: 'NODE_EXTRA_CA_CERTS',
  useTls: 'write https in HTTPS_PROXY',
  useNoTls: 'write http in HTTPS_PROXY',
};

const DIRECT = 'name the host in NO_PROXY if it can be reached without the proxy';

/**
 * Asks the proxy for a connection to a host (CONNECT; RFC 9110, 9.3.6), over which TLS to that host begins. Node's and undici's own
 * clients of proxies read NO_PROXY in two ways, and wait without end for a proxy that is silent.
 * @param signal ends it: a reason that is a TimeoutError is told as the proxy's silence
 * @throws ProxyFault: nothing was sent to the host
 */
export async function openTunnel(
  { origin, authorization }: HttpProxy,
  { host, port }: { readonly host: string; readonly port: number },
  signal: AbortSignal,
): Promise<Socket> {
  const { protocol, hostname, port: proxyPort } = new URL(origin);
  const authority = `${urlHost(withoutBrackets(host))}:${port}`;
  const said = Promise.withResolvers<{ status: number; socket: Socket; head: Buffer }>();
  const fault = (finding: string, remedy: string, cause?: unknown) =>
    new ProxyFault({ finding: `the proxy ${origin} of HTTPS_PROXY ${finding}`, remedy }, cause);
  const send = protocol === 'https:' ? httpsRequest : httpRequest;
  const proxyHost = withoutBrackets(hostname);
  const request = send({
    method: 'CONNECT',
    host: proxyHost,
    // Of the proxy's certificate; else Node takes the name in the header host. An address is not a name (RFC 6066).
    servername: isIP(proxyHost) === 0 ? proxyHost : '',
    port: proxyPort || (protocol === 'https:' ? 443 : 80),
    path: authority,
    agent: false,
    signal,
    headers: {
      host: authority,
      connection: 'keep-alive',
      ...(authorization !== undefined && { 'proxy-authorization': authorization }),
    },
  });
  request.once('connect', ({ statusCode = 0 }, socket: Socket, head) => {
    // Until TLS listens: a reset in between is told there.
    socket.on('error', () => {});
    said.resolve({ status: statusCode, socket, head });
  });
  request.on('error', said.reject).end();
  let answer: Awaited<typeof said.promise>;
  try {
    answer = await said.promise;
  } catch (error) {
    if (signal.aborted && signal.reason.name !== 'TimeoutError') throw error;
    const { finding, remedy } = signal.aborted
      ? explainFault('no-answer', PROXY)
      : explained(error as Error, authority);
    throw fault(`cannot be used (${finding})`, remedy, error);
  }
  const { status, socket, head } = answer;
  if (status >= 200 && status < 300 && head.length === 0) return socket;
  socket.destroy();
  if (status >= 300)
    throw fault(`answered ${status} to CONNECT ${authority}`, remedyFor(status, authorization));
  // Whoever TLS is spoken to is silent until then.
  throw fault(`sent more than its answer to CONNECT ${authority}`, SEE);
}

const SEE = 'see that HTTPS_PROXY names an HTTP proxy that takes CONNECT';

function explained(error: Error & { code?: string }, authority: string): { finding: string; remedy: string } {
  const fault = connectionFaultOf(error);
  // A proxy that demands a client certificate is none that HTTPS_PROXY can name.
  if (fault && !fault.startsWith('certificate-')) return explainFault(fault, PROXY);
  return { finding: `CONNECT ${authority}: ${error.code ?? error.message}`, remedy: SEE };
}

function remedyFor(status: number, authorization: string | undefined): string {
  if (status === 407)
    return authorization === undefined
      ? 'write user:password@ before its host'
      : 'correct the user and password in HTTPS_PROXY';
  if (status === 401 || status === 403) return `have it allow that host and port, or ${DIRECT}`;
  if (status >= 500) return `see why it does not reach that host, or ${DIRECT}`;
  return `${SEE}, or ${DIRECT}`;
}

/** @param settings.connectMs the longest time from the connection with the proxy to its answer */
type AgentSettings = ProxySettings & { readonly connectMs: number };

/** An agent for https addresses, whose connections go through the proxy where one is on the way. */
export const httpsAgent = (options: AgentOptions, settings: AgentSettings): HttpsAgent =>
  settings.proxy ? new TunnelAgent(options, settings) : new HttpsAgent(options);

class TunnelAgent extends HttpsAgent {
  readonly #settings: AgentSettings;
  readonly #destroyed = new AbortController();

  constructor(options: AgentOptions, settings: AgentSettings) {
    super(options);
    this.#settings = settings;
  }

  override createConnection(
    ...[options, callback]: Parameters<HttpsAgent['createConnection']>
  ): ReturnType<HttpsAgent['createConnection']> {
    const to = { host: String(options.host), port: Number(options.port) };
    const proxy = proxyTo(this.#settings, to);
    if (!proxy) return super.createConnection(options, callback);
    const signal = AbortSignal.any([this.#destroyed.signal, AbortSignal.timeout(this.#settings.connectMs)]);
    const connect = (socket: Socket) => super.createConnection({ ...options, socket } as typeof options);
    openTunnel(proxy, to, signal)
      .then(connect)
      .then(
        (socket) => callback?.(null, socket as Socket),
        (error) => callback?.(error, undefined as never),
      );
    return undefined;
  }

  override destroy(): void {
    this.#destroyed.abort();
    super.destroy();
  }
}

type Undici = typeof import('undici');

/**
 * What undici connects with: through the proxy where one is on the way. Both have the same time, CONNECT and TLS together.
 * @param options.stopping ends those that are being made
 */
export function createConnector(
  { buildConnector, errors }: Pick<Undici, 'buildConnector' | 'errors'>,
  settings: ProxySettings,
  {
    timeout,
    stopping,
    ...tls
  }: NonNullable<Parameters<Undici['buildConnector']>[0]> & { timeout: number; stopping: AbortSignal },
): ReturnType<Undici['buildConnector']> {
  const connect = buildConnector({ timeout, ...tls });
  // One request at a time on a connection: one that fails for lack of the next connection was surely not sent before.
  const connectBehind = buildConnector({ timeout, ...tls, allowH2: false });
  return (options, callback) => {
    const to = { host: options.hostname, port: Number(options.port || 443) };
    const proxy = options.protocol === 'https:' ? proxyTo(settings, to) : undefined;
    if (!proxy) return connect(options, callback);
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(timeout)]);
    openTunnel(proxy, to, signal).then(
      (httpSocket) => {
        const late = new errors.ConnectTimeoutError(`no TLS connection to ${to.host} within ${timeout} ms`);
        const cut = () => httpSocket.destroy(late);
        signal.addEventListener('abort', cut, { once: true });
        connectBehind({ ...options, httpSocket }, (...done) => {
          signal.removeEventListener('abort', cut);
          callback(...done);
        });
      },
      (error) => callback(error, null),
    );
  };
}
