import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsPort } from 'node:tls';
import { makeAuthority } from './secure/certificates.ts';

type Pem = { readonly cert: Buffer; readonly key: Buffer };

/** What a proxy does with CONNECT: it connects; answers a status; is silent; closes; sends something that is no TLS. */
export type ProxyMode = 'connect' | 'silent' | 'close' | 'garbage' | 'late-garbage' | number;

/** An HTTP proxy that knows host names which nobody else knows: no connection to them can be direct. */
export class ConnectProxy implements AsyncDisposable {
  mode: ProxyMode = 'connect';
  /** user:password that it demands. */
  credentials: string | undefined;
  /** Every host:port that it was asked for. */
  readonly asked: string[] = [];
  /** The port of 127.0.0.1 behind each host name. */
  readonly hosts = new Map<string, number>();
  readonly #server: ReturnType<typeof createServer>;
  readonly #isTls: boolean;
  readonly #sockets = new Set<Socket>();

  private constructor(tls: Pem | undefined) {
    this.#isTls = tls !== undefined;
    this.#server = tls ? createTlsServer(tls) : createServer();
    this.#server.on('connection', (socket) => this.#keep(socket));
    this.#server.on('connect', (request, socket) => this.#connect(request, socket as Socket));
  }

  static async start(tls?: Pem): Promise<ConnectProxy> {
    const proxy = new ConnectProxy(tls);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** For HTTPS_PROXY. @param credentials such as `user:password@` */
  url(credentials = ''): string {
    return `${this.#isTls ? 'https' : 'http'}://${credentials}127.0.0.1:${this.port}`;
  }

  /** Connections that are open, on either side. */
  get open(): number {
    return this.#sockets.size;
  }

  /** Closes every connection, as a proxy does that ends. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket)).on('error', () => {});
  }

  #connect({ url = '', headers }: IncomingMessage, socket: Socket): void {
    this.asked.push(url);
    // Node's HTTP servers leave a connection half open.
    socket.on('error', () => {}).on('end', () => socket.destroy());
    const { mode, credentials } = this;
    if (typeof mode === 'string' && mode !== 'connect') socket.resume();
    if (mode === 'silent') return;
    if (mode === 'close') return void socket.destroy();
    if (mode === 'garbage') return void socket.write('HTTP/1.1 200 OK\r\n\r\nSSH-2.0-garbage\r\n');
    if (mode === 'late-garbage') {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      return void socket.once('data', () => socket.write('SSH-2.0-garbage\r\n'));
    }
    const isRefused = credentials !== undefined && headers['proxy-authorization'] !== basicOf(credentials);
    const port = this.hosts.get(url.replace(/:\d+$/, ''));
    const status = isRefused ? 407 : mode === 'connect' ? (port === undefined ? 502 : 200) : mode;
    if (status !== 200) return void socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
    const behind = connect(port!, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(behind).pipe(socket);
    });
    this.#keep(behind);
    socket.on('close', () => behind.destroy());
    behind.on('close', () => socket.destroy());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const basicOf = (credentials: string) => `Basic ${Buffer.from(credentials).toString('base64')}`;

/** Servers of this machine under names that the proxy alone knows, by https. */
export type BehindProxy = AsyncDisposable & {
  readonly proxy: ConnectProxy;
  readonly caFile: string;
  /** The same server as https://name.beyond.example, path included. @param to http://127.0.0.1:port */
  publish(name: string, to: string): Promise<string>;
  /** From now on the proxy gives no connection, and has none. */
  refuse(mode: ProxyMode): void;
};

/** @param isTls whether the proxy itself speaks TLS */
export async function openBehindProxy({ isTls = false } = {}): Promise<BehindProxy> {
  const dir = mkdtempSync(join(tmpdir(), 'hookline-proxy-'));
  const authority = makeAuthority(dir, 'authority');
  const issue = (name: string, names: string): Pem => {
    const { certFile, keyFile } = authority.issue(name, names);
    return { cert: readFileSync(certFile), key: readFileSync(keyFile) };
  };
  const pem = issue('server', 'DNS:*.beyond.example,IP:127.0.0.1');
  const proxy = await ConnectProxy.start(isTls ? issue('proxy', 'IP:127.0.0.1') : undefined);
  const ports: AsyncDisposable[] = [];
  return {
    proxy,
    caFile: authority.caFile,
    async publish(name, to) {
      const { port, pathname } = new URL(to);
      const server = await startTlsPort(Number(port), pem);
      ports.push(server);
      proxy.hosts.set(`${name}.beyond.example`, server.port);
      return `https://${name}.beyond.example${pathname.replace(/\/$/, '')}`;
    },
    refuse(mode) {
      proxy.mode = mode;
      proxy.cut();
    },
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      for (const one of ports) await one[Symbol.asyncDispose]();
      rmSync(dir, { recursive: true });
    },
  };
}

/** Speaks TLS in front of a port of this machine. */
async function startTlsPort(to: number, pem: Pem): Promise<{ readonly port: number } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  const server = createTlsPort(pem, (socket) => {
    const behind = connect(to, '127.0.0.1');
    for (const [one, other] of [
      [socket, behind],
      [behind, socket],
    ] as const) {
      sockets.add(one);
      one
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(one);
          other.destroy();
        });
    }
    socket.pipe(behind).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
