import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { type SourceFilter, sourceOf } from '../config/networks.ts';
import { HooklineError } from '../core/errors.ts';
import { trustOf, waitsForUs } from './body/open-bodies.ts';

/** Why ingress closed a connection without an answer. */
export const CONNECTION_ENDS = {
  source_not_allowed: 'it comes from an address outside ALLOWED_SOURCES and TRUSTED_PROXIES',
  source_limit: 'its address has MAX_CONNECTIONS_PER_SOURCE already',
  evicted: 'MAX_CONNECTIONS is reached and it never delivered a verified webhook',
  limit: 'MAX_CONNECTIONS is reached and every other connection delivered verified webhooks',
  tls_failed: 'the TLS handshake failed or took too long',
  silent: 'it sent nothing',
  pipelined: 'it sent more than 16 requests without waiting for their answers',
} as const;

export type ConnectionEnd = keyof typeof CONNECTION_ENDS;

/**
 * Requests of one connection that may be at work at once, and that may begin in one turn of the event loop. Node begins
 * whatever it has read, thousands of small requests in a turn, and everybody else waits behind them. A sender that waits
 * for its answers begins one.
 */
const MAX_PIPELINED = 16;
const PIPELINE = Symbol('requests in the pipeline');
type Pipeline = { atWork: number; turn: number; begun: number };
type PipelinedSocket = Socket & { [PIPELINE]?: Pipeline };

/** How often we look whether a connection has sent something, until it is among the longest open. */
const LOOKS_PER_LIFE = 16;
/** Of so many of the longest open one makes way. */
const MAX_CANDIDATES = 32;
/** Bytes that a connection had sent at the last look, and at how many looks since it had sent none. */
type Seen = { bytes: number; silent: number };

export type ConnectionLimitsOptions = {
  readonly maxConnections: number;
  /** undefined means no limit per address. */
  readonly maxPerSource: number | undefined;
  /** Whether connections may come from an address; undefined means from any. */
  readonly isAllowedPeer: SourceFilter | undefined;
  /** Connections are those of proxies: the limit per address counts requests by the address that they forward. */
  readonly isBehindProxies: boolean;
  readonly onClosed: (reason: ConnectionEnd) => void;
};

/**
 * Decides about each connection when it opens, on average in constant time. A sender that never delivered a verified
 * webhook cannot keep others out: at the limit one of the longest open connections of this kind makes way, the longest silent one.
 */
export class ConnectionLimits {
  readonly #options: ConnectionLimitsOptions;
  readonly #open = new Set<Socket>();
  /** Of the open ones those that were not seen to be proven, the longest open first. */
  readonly #unproven = new Map<Socket, Seen>();
  /** Connections that open until we look again. */
  #untilLook = 0;
  /** Connections by what their address counts as, or requests by the address that a proxy forwards. */
  readonly #bySource = new Map<string, number>();
  /** TCP connections under TLS by their two ends: Node does not say which TCP socket is under a TLS socket. */
  readonly #byEnds = new Map<string, Socket>();
  readonly #secured = new WeakMap<Socket, TLSSocket>();
  /** Of the event loop, those in which requests began. */
  #turn = 0;
  #isTurnCounted = false;

  constructor(options: ConnectionLimitsOptions) {
    this.#options = options;
  }

  /** How many connections are open. */
  get open(): number {
    return this.#open.size;
  }

  /** Takes a connection in or closes it. @returns whether it stays */
  admit(socket: Socket): boolean {
    const { isAllowedPeer, maxPerSource, isBehindProxies } = this.#options;
    // Asked for here the address is known later too, when the peer may have gone.
    const address = socket.remoteAddress;
    if (address === undefined) {
      // The peer has gone already: nobody was refused.
      socket.destroy();
      return false;
    }
    if (isAllowedPeer && !isAllowedPeer(address)) return this.#close(socket, 'source_not_allowed');
    const isCounted = maxPerSource !== undefined && !isBehindProxies;
    const source = isCounted ? sourceOf(address) : '';
    if (isCounted && (this.#bySource.get(source) ?? 0) >= maxPerSource) {
      return this.#close(socket, 'source_limit');
    }
    const { maxConnections } = this.#options;
    // From half of it on: at the limit we know who has been silent.
    if (this.#unproven.size >= maxConnections / 2 && --this.#untilLook < 0) this.#look();
    if (this.#open.size >= maxConnections && !this.#evict()) {
      return this.#close(socket, 'limit');
    }
    this.#open.add(socket);
    this.#unproven.set(socket, { bytes: 0, silent: 0 });
    if (isCounted) this.#count(source, 1);
    socket.once('close', () => {
      this.#forget(socket);
      if (isCounted) this.#count(source, -1);
    });
    return true;
  }

  /** A connection on which TLS begins. */
  beginTls(socket: Socket): void {
    const ends = endsOf(socket);
    this.#byEnds.set(ends, socket);
    socket.once('close', () => {
      if (this.#byEnds.get(ends) === socket) this.#byEnds.delete(ends);
    });
  }

  /** The TLS handshake is complete: from now on the TLS socket is the connection. */
  endTls(secured: TLSSocket): void {
    const socket = this.#byEnds.get(endsOf(secured));
    if (socket) this.#secured.set(socket, secured);
  }

  /**
   * Counts a request until the returned function is called, where requests are counted.
   * @throws HooklineError SOURCE_BUSY
   */
  beginRequest(address: string): (() => void) | undefined {
    const { maxPerSource, isBehindProxies } = this.#options;
    if (maxPerSource === undefined || !isBehindProxies) return undefined;
    const source = sourceOf(address);
    if ((this.#bySource.get(source) ?? 0) >= maxPerSource) throw new HooklineError('SOURCE_BUSY');
    this.#count(source, 1);
    return () => this.#count(source, -1);
  }

  /**
   * Counts a request of a connection until {@link endPipelined}, and closes the connection where there are too many:
   * answers to them would need it to be read on.
   * @returns whether the request may begin
   */
  beginPipelined(socket: PipelinedSocket): boolean {
    this.#countTurn();
    socket[PIPELINE] ??= { atWork: 0, turn: this.#turn, begun: 0 };
    const pipeline = socket[PIPELINE];
    if (pipeline.turn !== this.#turn) {
      pipeline.turn = this.#turn;
      pipeline.begun = 0;
    }
    if (pipeline.atWork >= MAX_PIPELINED || pipeline.begun >= MAX_PIPELINED) {
      socket.destroy();
      this.#options.onClosed('pipelined');
      return false;
    }
    pipeline.atWork++;
    pipeline.begun++;
    return true;
  }

  endPipelined(socket: PipelinedSocket): void {
    if (socket[PIPELINE]) socket[PIPELINE].atWork--;
  }

  /** Once per turn in which requests begin, not per request. */
  #countTurn(): void {
    if (this.#isTurnCounted) return;
    this.#isTurnCounted = true;
    setImmediate(() => {
      this.#isTurnCounted = false;
      this.#turn++;
    });
  }

  /** Closes connections on which no request is being answered, such as half a head: for a stop, which waits for them. */
  closeWithoutRequest(): void {
    for (const socket of this.#open) {
      // Node's own field: the answer that is being written, undefined before the first request.
      const { _httpMessage: answer } = this.#connectionOf(socket) as {
        _httpMessage?: object | null;
      };
      if (!answer) socket.destroy();
    }
  }

  /**
   * Closes, of the longest open connections that are not proven, the one that has been silent for longest. A proven one
   * is checked once, and never again.
   */
  #evict(): boolean {
    // Whoever opened later keeps its time.
    let left = Math.min(MAX_CANDIDATES, Math.ceil(this.#unproven.size / 8));
    let chosen: [socket: Socket, silent: number] | undefined;
    for (const [socket, seen] of this.#unproven) {
      const connection = this.#connectionOf(socket);
      const trust = trustOf(connection);
      if (trust === 'proven') {
        this.#unproven.delete(socket);
        continue;
      }
      const silent = trust === 'refuted' ? LOOKS_PER_LIFE : waitsForUs(connection) ? -1 : seen.silent;
      if (!chosen || silent > chosen[1]) chosen = [socket, silent];
      if (silent >= LOOKS_PER_LIFE / 2 || --left <= 0) break;
    }
    if (!chosen) return false;
    const [socket] = chosen;
    this.#forget(socket);
    // A reset: with an orderly close the system would keep a flood's connections for a minute more.
    socket.resetAndDestroy();
    this.#options.onClosed('evicted');
    return true;
  }

  /** Looks which have sent something since the last look. */
  #look(): void {
    this.#untilLook = Math.floor(this.#unproven.size / LOOKS_PER_LIFE);
    for (const [socket, seen] of this.#unproven) {
      const { bytesRead } = socket;
      seen.silent = bytesRead > seen.bytes ? 0 : seen.silent + 1;
      seen.bytes = bytesRead;
    }
  }

  #connectionOf(socket: Socket): Socket {
    return this.#secured.get(socket) ?? socket;
  }

  #close(socket: Socket, reason: ConnectionEnd): false {
    socket.destroy();
    this.#options.onClosed(reason);
    return false;
  }

  #forget(socket: Socket): void {
    this.#open.delete(socket);
    this.#unproven.delete(socket);
  }

  #count(source: string, by: 1 | -1): void {
    const count = (this.#bySource.get(source) ?? 0) + by;
    if (count > 0) this.#bySource.set(source, count);
    else this.#bySource.delete(source);
  }
}

const endsOf = ({ remoteAddress, remotePort, localAddress }: Socket) =>
  `${remoteAddress} ${remotePort} ${localAddress}`;
