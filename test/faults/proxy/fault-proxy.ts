import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { correlationIdOf, PRODUCE, RequestWatch, ResponseCutter } from './kafka-frames.ts';
import { type Conditions, Link } from './link.ts';
import type { ProduceFault, ProduceFaults } from './produce-faults.ts';

/** After its client was cut off a broker gets this long to work through what it was already sent. */
const BROKER_LINGER_MS = 2_000;

export type ProxyParts = {
  /** The port that the broker advertises. */
  readonly port: number;
  /** Where the broker really listens; looked at for each connection. */
  readonly target: () => number;
  readonly faults: ProduceFaults;
};

/** Stands in front of one broker. It understands Kafka's frames, so that it can lose a Produce response and no other. */
export class FaultProxy {
  readonly faults: ProduceFaults;
  readonly conditions: Conditions = { blackhole: false, latencyMs: 0 };
  readonly #parts: ProxyParts;
  readonly #server: Server;
  readonly #connections = new Set<ProxiedConnection>();

  constructor(parts: ProxyParts) {
    this.#parts = parts;
    this.faults = parts.faults;
    this.#server = createServer((client) => this.#accept(client));
  }

  async listen(): Promise<void> {
    this.#server.listen(this.#parts.port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** Breaks every connection there is; new ones are taken. */
  cut(): void {
    for (const connection of this.#connections) connection.close();
  }

  setConditions(conditions: Partial<Conditions>): void {
    Object.assign(this.conditions, conditions);
    for (const connection of this.#connections) connection.release();
  }

  /** No faults from now on. */
  heal(): void {
    this.faults.set(null);
    this.setConditions({ blackhole: false, latencyMs: 0 });
  }

  async close(): Promise<void> {
    this.#server.close();
    this.cut();
    await once(this.#server, 'close');
  }

  #accept(client: Socket): void {
    const broker = connect({ port: this.#parts.target(), host: '127.0.0.1', noDelay: true });
    client.setNoDelay(true);
    const parts = { client, broker, conditions: this.conditions, faults: this.faults };
    const connection = new ProxiedConnection(parts, () => this.#connections.delete(connection));
    this.#connections.add(connection);
  }
}

type ConnectionParts = { client: Socket; broker: Socket; conditions: Conditions; faults: ProduceFaults };

/** A client's connection and the one to the broker behind it. */
class ProxiedConnection {
  readonly #client: Socket;
  readonly #broker: Socket;
  readonly #up: Link;
  readonly #down: Link;
  readonly #onClosed: () => void;
  /** By correlation id, what becomes of the responses that are still to come. */
  readonly #fates = new Map<number, ProduceFault>();
  #isCut = false;

  constructor({ client, broker, conditions, faults }: ConnectionParts, onClosed: () => void) {
    this.#client = client;
    this.#broker = broker;
    this.#onClosed = onClosed;
    this.#up = new Link(client, broker, conditions);
    this.#down = new Link(broker, client, conditions);
    const watch = new RequestWatch(({ apiKey, correlationId, clientId }) => {
      const fate = apiKey === PRODUCE ? faults.choose(clientId) : null;
      if (fate) this.#fates.set(correlationId, fate);
    });
    const cutter = new ResponseCutter();
    client.on('data', (chunk) => {
      watch.see(chunk);
      this.#up.pass(chunk);
    });
    broker.on('data', (chunk) => {
      for (const response of cutter.cut(chunk)) this.#answer(response);
    });
    client.on('error', () => {}).on('close', () => this.#cutClient());
    broker.on('error', () => {}).on('close', () => this.close());
  }

  release(): void {
    this.#up.release();
    this.#down.release();
  }

  close(): void {
    this.#cutClient();
    this.#broker.destroy();
  }

  #answer(response: Buffer): void {
    if (this.#isCut) return;
    const correlationId = correlationIdOf(response);
    const fate = this.#fates.get(correlationId);
    this.#fates.delete(correlationId);
    switch (fate?.kind) {
      case 'swallow':
        return;
      case 'drop':
        return this.#cutClient();
      case 'delay':
        return this.#down.pass(response, fate.delayMs);
      case undefined:
        return this.#down.pass(response);
    }
  }

  /** The client sees a broken connection at once; the broker may end what it has. */
  #cutClient(): void {
    if (this.#isCut) return;
    this.#isCut = true;
    this.#onClosed();
    this.#client.destroy();
    this.#up.close();
    this.#down.close();
    setTimeout(() => this.#broker.destroy(), BROKER_LINGER_MS).unref();
  }
}
