import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';

export type Operation = 'token' | 'list' | 'create' | 'delete' | 'other';
/** Writes whatever it likes to the socket, for as long as it likes. */
export type Misbehaviour = (socket: Socket, address: { readonly url: string }) => void;

type Item = { readonly id: string; readonly url: unknown; readonly events: unknown };

/** A provider on a raw socket: honest, but for the operations that it is told to misbehave at. */
export class HostileProvider implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #items = new Map<string, Item>();
  readonly url: string;
  readonly misbehaves = new Map<Operation, Misbehaviour>();
  /** Requests that came here, by path. */
  readonly seen: string[] = [];

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(): Promise<HostileProvider> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const provider = new HostileProvider(server);
    server.on('connection', (socket) => provider.#take(socket));
    return provider;
  }

  #take(socket: Socket): void {
    this.#sockets.add(socket);
    let pending = '';
    socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket));
    socket.on('data', (chunk) => {
      pending += chunk.toString('latin1');
      for (;;) {
        const headEnd = pending.indexOf('\r\n\r\n');
        if (headEnd < 0) return;
        const length = Number(/content-length: (\d+)/i.exec(pending.slice(0, headEnd))?.[1] ?? 0);
        const end = headEnd + 4 + length;
        if (pending.length < end) return;
        const [method = '', path = ''] = pending.split(' ', 2);
        const body = pending.slice(headEnd + 4, end);
        pending = pending.slice(end);
        this.#answer(socket, method, path, body);
      }
    });
  }

  #answer(socket: Socket, method: string, path: string, body: string): void {
    this.seen.push(`${method} ${path}`);
    const operation = operationOf(method, path);
    const misbehave = this.misbehaves.get(operation);
    if (misbehave) return misbehave(socket, { url: this.url });
    if (operation === 'token')
      return answer(socket, { access_token: 'a-token', token_type: 'bearer', expires_in: 3_600 });
    if (operation === 'list') return answer(socket, [...this.#items.values()]);
    if (operation === 'delete') this.#items.delete(path.split('/').at(-1) ?? '');
    if (operation !== 'create') return answer(socket, {});
    const { url, events } = JSON.parse(body);
    const id = randomUUID();
    this.#items.set(id, { id, url, events });
    return answer(socket, { id, signingSecret: randomUUID() });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function operationOf(method: string, path: string): Operation {
  if (path.endsWith('/oauth/token')) return 'token';
  if (path.endsWith('/subscriptions')) return method === 'GET' ? 'list' : 'create';
  return method === 'DELETE' ? 'delete' : 'other';
}

/** A whole answer. */
export function answer(
  socket: Socket,
  json: unknown,
  head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json',
): void {
  const body =
    typeof json === 'string' || Buffer.isBuffer(json) ? Buffer.from(json) : Buffer.from(JSON.stringify(json));
  socket.write(`${head}\r\ncontent-length: ${body.length}\r\n\r\n`);
  socket.write(body);
}

/** Writes pieces for as long as the other side reads. */
export function endless(socket: Socket, head: string, piece: Buffer): void {
  const write = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.write(head);
  socket.on('drain', write);
  write();
}

/** A piece now and then, until the connection is closed. */
export function drip(socket: Socket, head: string, piece: string, everyMs: number): void {
  socket.write(head);
  const timer = setInterval(() => socket.write(piece), everyMs);
  socket.once('close', () => clearInterval(timer));
}
