import './client-patches.ts';
import { isIP, type Socket } from 'node:net';
import type { Connection, Producer } from '@platformatic/kafka';
import { hostOf } from './broker-address.ts';
import { type KafkaConnection, refusalOf } from './connection.ts';
import { explainRefusal } from './explain-refusal.ts';
import { refusalIn, type Sasl, TokenRefusedError } from './sasl.ts';

/** What every client of @platformatic/kafka has. */
type Client = Pick<Producer, 'connections' | 'metadata'> & { close(): Promise<void> };

const CONNECT_TIMEOUT_MS = 1_000;
/** With the rounds of TLS and SASL, and the arithmetic that both cost. */
const SECURE_CONNECT_TIMEOUT_MS = 2_500;

/**
 * What every client is opened with. `rotation` turns the seed brokers, so that the next client doesn't begin at a broker
 * that hangs. No retries inside: each failure is judged by who asked.
 */
export function clientOptions(
  { brokers, tls, sasl }: KafkaConnection,
  { clientId, requestTimeoutMs, rotation = 0 }: ClientSettings,
) {
  const turn = rotation % brokers.length;
  return {
    clientId,
    bootstrapBrokers: [...brokers.slice(turn), ...brokers.slice(0, turn)],
    ...(tls && { tls: liveTls(tls), tlsServerName: canNameServers(brokers) }),
    ...(sasl && { sasl: toSasl(sasl) }),
    timeout: requestTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectTimeout: tls || sasl ? SECURE_CONNECT_TIMEOUT_MS : CONNECT_TIMEOUT_MS,
    retries: 0,
    autocreateTopics: false,
  };
}

/** It asks for password and token with each authentication, and takes any answer to a token for a consent. */
function toSasl(sasl: Sasl) {
  if (sasl.mechanism !== 'OAUTHBEARER') return sasl;
  const { mechanism, tokens, extensions } = sasl;
  return {
    mechanism,
    token: () => tokens.get(),
    oauthBearerExtensions: { ...extensions },
    authBytesValidator(answer: Buffer, callback: (error: Error | null, answer: Buffer) => void) {
      const refusal = refusalIn(answer);
      if (refusal === undefined) return callback(null, answer);
      const shown = tokens.current();
      if (shown !== undefined) tokens.reject(shown);
      callback(new TokenRefusedError(refusal), answer);
    },
  };
}

type ClientSettings = {
  readonly clientId: string;
  readonly requestTimeoutMs: number;
  readonly rotation?: number;
};

/** The client takes these options apart for each connection, and so gets the certificates as they are then. */
const liveTls = (tls: NonNullable<KafkaConnection['tls']>) => ({
  get secureContext() {
    return tls().context;
  },
});

/** Clusters behind one address differ by the name that is asked for; an address is not a name (RFC 6066). */
const canNameServers = (brokers: readonly string[]) => !brokers.some((broker) => isIP(hostOf(broker)) !== 0);

/** A client's connections, and what it learns over them. */
export class WatchedClient<C extends Client> {
  readonly client: C;
  readonly #connection: KafkaConnection;
  /** Those that are open or being opened. The client's own list loses one when an older one to the same broker closes later. */
  readonly #made = new Set<Connection>();
  #lastFault: unknown;
  #neverAnswered = true;

  constructor(client: C, connection: KafkaConnection) {
    this.client = client;
    this.#connection = connection;
    // A refusal of our certificate comes after the connection is made, and a request then learns only that it was closed.
    // An error without a listener would end the process.
    client.connections.on('connecting', ({ broker, connection: made }) => {
      this.#made.add(made);
      made.once('close', () => this.#made.delete(made));
      made.on('error', (error) => {
        this.#lastFault = error;
        made.socket?.destroy();
        this.#made.delete(made);
      });
      const refusal = refusalOf(connection, broker.host);
      // The socket is there when this event is over, and connected later than that: nothing is sent on it.
      process.nextTick(() => {
        if (refusal) made.socket?.destroy(refusal);
        else if (made.socket) resetWhenDestroyed(made.socket);
      });
    });
  }

  async metadata(options: Parameters<Client['metadata']>[0]) {
    const metadata = await this.client.metadata(options);
    this.#neverAnswered = false;
    // What befell a connection before this does not explain what fails after it.
    this.#lastFault = undefined;
    return metadata;
  }

  get hasAnswered(): boolean {
    return !this.#neverAnswered;
  }

  /** A failure as an error that names the variable and the remedy, where it tells what is the matter; else as it is. */
  explain(failure: unknown): unknown {
    const cause = new AggregateError([failure, this.#lastFault]);
    const explained = explainRefusal(cause, this.#connection, { neverAnswered: this.#neverAnswered });
    return explained === cause ? failure : explained;
  }

  /** Of the connections that are open. */
  get bytesRead(): number {
    return [...this.#made].reduce((sum, { socket }) => sum + (socket?.bytesRead ?? 0), 0);
  }

  /** Cuts the connections at once. `close` waits for requests under way, and ends the sockets: they are reset before. */
  destroy(): void {
    for (const { socket } of this.#made) if (socket) resetSocket(socket);
    this.#made.clear();
    this.client.close().catch(() => {});
  }
}

/** What a TLS socket reads from and writes to, which Node shows to nobody. */
type TcpHandle = { reset?(done: () => void): number; close(done: () => void): void };

/**
 * Ends a connection with a reset. A socket that is only destroyed leaves what was written, up to megabytes, to the machine, which
 * goes on sending it after that, for minutes where the other side cannot be reached meanwhile (Linux: tcp_orphan_retries).
 */
export function resetSocket(socket: Socket, error?: Error): void {
  const { _handle: handle } = socket as { _handle?: TcpHandle & { readonly _parent?: TcpHandle } };
  // `resetAndDestroy` takes no TLS socket (Node 24): the one below it is closed with a reset.
  const below = handle?._parent ?? handle;
  // While it connects nothing was written yet, and it could not be reset. Nor can one whose end is being sent: Node would take it for
  // closed, and leave it open.
  const isEnding = socket.writableEnded && !socket.writableFinished && socket.writableLength === 0;
  if (below && !socket.connecting && !isEnding) {
    const { close } = below;
    below.close = (done) => {
      if (below.reset?.(done) !== 0) close.call(below, done);
    };
  }
  socket.destroy(error);
}

/** The client itself destroys a socket where a request is not answered in time. */
function resetWhenDestroyed(socket: Socket): void {
  const { destroy } = socket;
  socket.destroy = (error) => {
    socket.destroy = destroy;
    resetSocket(socket, error);
    return socket;
  };
}

/** Kafka's name of what a broker has answered; undefined if this is no answer of a broker. */
export function apiIdOf(error: unknown, depth = 0): string | undefined {
  if (!(error instanceof Error) || depth > 8) return undefined;
  const { apiId } = error as { apiId?: unknown };
  if (typeof apiId === 'string') return apiId;
  // The metadata call says this in its message alone.
  if (/^Unknown topic /.test(error.message)) return 'UNKNOWN_TOPIC_OR_PARTITION';
  for (const inner of error instanceof AggregateError ? error.errors : []) {
    const found = apiIdOf(inner, depth + 1);
    if (found !== undefined) return found;
  }
  return apiIdOf(error.cause, depth + 1);
}
