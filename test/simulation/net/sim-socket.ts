import { EventEmitter } from 'node:events';
import type { Timer } from '../../../src/runtime/clock.ts';
import type { Actor, Simulation } from '../engine/simulation.ts';

/** What a socket tells the network. */
export type SocketPeer = {
  /** Bytes that were written, in their order. */
  sent(bytes: Buffer): void;
  /** Our side has closed the connection. */
  closed(): void;
  /** Our side has reset the connection: what its machine still has to send is not sent. */
  reset(): void;
};

/** A TCP socket of Node, as far as the Kafka clients use one. Its network is simulated. */
export class SimSocket extends EventEmitter {
  destroyed = false;
  connecting = true;
  bytesRead = 0;
  /** What Node's own closes and resets. */
  readonly _handle: { close(): void; reset(): number };
  readonly #simulation: Simulation;
  readonly #actor: Actor;
  readonly #peer: SocketPeer;
  #timeout: Timer | undefined;
  #isEnding = false;

  constructor(simulation: Simulation, actor: Actor, peer: SocketPeer, timeoutMs = 0) {
    super();
    this.#simulation = simulation;
    this.#actor = actor;
    this.#peer = peer;
    this._handle = {
      close: () => peer.closed(),
      reset() {
        peer.reset();
        return 0;
      },
    };
    this.setTimeout(timeoutMs);
  }

  get writable(): boolean {
    return !this.destroyed;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  /** The time without a connection after which `timeout` is emitted; 0 for none. Later silence is not watched. */
  setTimeout(ms: number): this {
    this.#timeout?.cancel();
    this.#timeout = undefined;
    if (ms > 0) this.#timeout = this.#simulation.after(ms, this.#actor, () => this.emit('timeout'));
    return this;
  }

  write(bytes: Buffer | string, encoding?: unknown, done?: () => void): boolean {
    if (this.destroyed) return false;
    // A dead process writes nothing, not even what it would have done in the same turn.
    if (this.#actor.effect()) this.#peer.sent(Buffer.from(bytes as Buffer));
    const callback = typeof encoding === 'function' ? (encoding as () => void) : done;
    if (callback) process.nextTick(callback);
    return true;
  }

  /** As Node does: one that is still connecting connects first. */
  end(): this {
    if (!this.connecting) return this.destroy();
    this.#isEnding = true;
    return this;
  }

  destroySoon(): void {
    this.destroy();
  }

  destroy(error?: Error): this {
    if (this.destroyed) return this;
    this.#close();
    if (this.#actor.isAlive) this._handle.close();
    process.nextTick(() => this.#emitClose(error));
    return this;
  }

  /** The other side has taken the connection. */
  connected(): void {
    if (this.destroyed) return;
    this.connecting = false;
    this.setTimeout(0);
    this.emit('connect');
    this.emit('ready');
    if (this.#isEnding) this.destroy();
  }

  received(bytes: Buffer): void {
    if (this.destroyed) return;
    this.bytesRead += bytes.length;
    this.emit('data', bytes);
  }

  /** The other side has closed, or refused, the connection. */
  failed(error: Error | undefined): void {
    if (this.destroyed) return;
    this.#close();
    if (!error) this.emit('end');
    this.#emitClose(error);
  }

  #close(): void {
    this.destroyed = true;
    this.connecting = false;
    this.setTimeout(0);
  }

  #emitClose(error: Error | undefined): void {
    if (error) this.emit('error', error);
    this.emit('close', error !== undefined);
  }
}
