import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A process behind the balancer. */
export type Backend = {
  readonly port: number;
  /** Answers 200 while it may get new connections. */
  readonly readyUrl: string;
};

type Known = Backend & { isReady: boolean };

const PROBE_EVERY_MS = 100;
const PROBE_WITHIN_MS = 1_000;
/** A connection that finds nobody waits so long: a process may just be coming. */
const WAIT_MS = 10_000;

/**
 * A small balancer of connections, as a Kubernetes service is one: each goes to one process for its whole life. A
 * process that isn't ready gets no new ones. A connection that is refused, having carried nothing yet, goes to another.
 */
export class Balancer implements AsyncDisposable {
  readonly #server: Server;
  readonly #backends = new Set<Known>();
  readonly #sockets = new Set<Socket>();
  readonly #prober: NodeJS.Timeout;
  #turn = 0;

  private constructor() {
    this.#server = createServer((client) => void this.#accept(client));
    this.#prober = setInterval(() => {
      for (const backend of this.#backends) void this.#probe(backend);
    }, PROBE_EVERY_MS);
  }

  static async start(): Promise<Balancer> {
    const balancer = new Balancer();
    balancer.#server.listen(0, '127.0.0.1');
    await once(balancer.#server, 'listening');
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Adds a process, once it is ready; the returned function takes it out. */
  async add(backend: Backend): Promise<() => void> {
    const known = { ...backend, isReady: false };
    await this.#probe(known);
    this.#backends.add(known);
    return () => void this.#backends.delete(known);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#prober);
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server, 'close');
  }

  async #probe(backend: Known): Promise<void> {
    const signal = AbortSignal.timeout(PROBE_WITHIN_MS);
    backend.isReady = await fetch(backend.readyUrl, { signal }).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  async #accept(client: Socket): Promise<void> {
    client.setNoDelay(true);
    client.on('error', () => {});
    this.#sockets.add(client);
    client.on('close', () => this.#sockets.delete(client));
    const end = performance.now() + WAIT_MS;
    while (!client.destroyed && performance.now() < end) {
      const upstream = await this.#connect();
      if (upstream) return join(client, upstream);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    client.destroy();
  }

  /** A connection to the next process that is ready, or null where none takes it. */
  async #connect(): Promise<Socket | null> {
    const ready = [...this.#backends].filter(({ isReady }) => isReady);
    const backend = ready[this.#turn++ % ready.length];
    if (!backend) return null;
    const upstream = connect({ port: backend.port, host: '127.0.0.1', noDelay: true });
    try {
      await once(upstream, 'connect');
      return upstream;
    } catch {
      // Refused: nothing of it was sent, so another may get it.
      backend.isReady = false;
      return null;
    }
  }
}

function join(client: Socket, upstream: Socket): void {
  // Ended, not destroyed: what is still on its way to the client has to get there.
  upstream.on('error', () => client.destroy()).on('close', () => client.end());
  client.on('close', () => upstream.destroy());
  client.pipe(upstream);
  upstream.pipe(client);
}
