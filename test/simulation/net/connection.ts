import type { Random } from '../../faults/random.ts';
import type { Actor, Simulation } from '../engine/simulation.ts';
import { SimSocket } from './sim-socket.ts';

/** One end of a connection as a server sees it. */
export type ServerConnection = {
  /** Sends bytes to the client, behind all that was sent before. `extraMs` later than the network takes. */
  send(bytes: Buffer, extraMs?: number): void;
  /** Closes it; the client sees a reset. */
  reset(): void;
  /** Whether nobody waits at its other end, though that may not be known here yet. */
  isAbandoned(): boolean;
};

/** Who listens at a port. */
export type Server = {
  readonly actor: Actor;
  /** Whether its process runs: else its machine refuses connections. */
  readonly isUp: boolean;
  accept(connection: ServerConnection): {
    received(bytes: Buffer): void;
    closed(): void;
  };
};

/** The way between our process and one server. */
export type Path = { isBlackHole: boolean; extraMs: number };

type Passing = () => void;

type Ends = {
  readonly actor: Actor;
  readonly server: Server;
  readonly paths: readonly Path[];
  readonly port: number;
  readonly onWrite: (bytes: Buffer) => void;
};

/** One connection, with what is on its way in it. */
export class Connection {
  readonly actor: Actor;
  readonly port: number;
  onClosed: () => void = () => {};
  socket!: SimSocket;
  readonly #simulation: Simulation;
  readonly #random: Random;
  readonly #server: Server;
  readonly #paths: readonly Path[];
  readonly #onWrite: (bytes: Buffer) => void;
  #accepted: ReturnType<Server['accept']> | undefined;
  #held: Passing[] = [];
  /** When the last thing on its way arrives, up and down. */
  readonly #last = { up: 0, down: 0 };
  #isReset = false;
  #isAbandoned = false;

  constructor(simulation: Simulation, random: Random, { actor, server, paths, port, onWrite }: Ends) {
    this.#simulation = simulation;
    this.#random = random;
    this.actor = actor;
    this.#server = server;
    this.#paths = paths;
    this.#onWrite = onWrite;
    this.port = port;
  }

  open(timeoutMs: number): void {
    const peer = {
      sent: (bytes: Buffer) => {
        this.#onWrite(bytes);
        this.#up('sent', () => this.#accepted?.received(bytes), bytes);
      },
      closed: () => this.clientGone(),
      reset: () => {
        // Of what is held back nothing has left the client's machine.
        this.#held = [];
        this.clientGone();
      },
    };
    this.socket = new SimSocket(this.#simulation, this.actor, peer, timeoutMs);
    this.#pass(() => this.#arriveUp('connect', () => this.#accept()));
  }

  release(): void {
    if (this.#isBlackHole) return;
    for (const arrive of this.#held.splice(0)) arrive();
  }

  /** The client has closed it, or is dead: the server learns that behind what was sent before. */
  clientGone(): void {
    this.#isAbandoned = true;
    this.#up('closed', () => {
      this.#accepted?.closed();
      this.onClosed();
    });
  }

  /** Both sides see it broken. What was on its way up may still arrive: it was in the server's machine already. */
  reset(): void {
    if (this.#isReset) return;
    this.#isReset = true;
    this.#accepted?.closed();
    this.#accepted = this.#random.chance(0.5) ? this.#accepted : undefined;
    // Some ends say goodbye, of connections that were made.
    const isSilent = !this.#random.chance(0.5);
    this.#down('reset', () => {
      this.onClosed();
      this.socket.failed(isSilent && !this.socket.connecting ? undefined : networkError('ECONNRESET'));
    });
  }

  #accept(): void {
    if (this.#server.isUp) {
      this.#accepted = this.#server.accept({
        send: (bytes, extraMs = 0) => this.#send(bytes, extraMs),
        reset: () => this.reset(),
        isAbandoned: () => this.#isAbandoned,
      });
      this.#down('connected', () => this.socket.connected());
      return;
    }
    this.#down('refused', () => {
      this.onClosed();
      this.socket.failed(networkError('ECONNREFUSED'));
    });
  }

  #send(bytes: Buffer, extraMs: number): void {
    if (this.#isReset) return;
    // TCP keeps no borders: sometimes an answer arrives in two pieces.
    const cut = this.#random.chance(0.1) ? this.#random.between(1, bytes.length - 1) : bytes.length;
    for (const piece of [bytes.subarray(0, cut), bytes.subarray(cut)])
      if (piece.length > 0) this.#down('data', () => this.socket.received(piece), piece, extraMs);
  }

  #up(what: string, arrive: () => void, bytes?: Buffer): void {
    this.#pass(() => this.#arriveUp(what, arrive, bytes));
  }

  #arriveUp(what: string, arrive: () => void, bytes?: Buffer): void {
    const at = Math.max(this.#last.up, this.#simulation.now + this.#latency());
    this.#last.up = at;
    this.#simulation.after(
      at - this.#simulation.now,
      this.#server.actor,
      () => {
        this.#simulation.trace.note(this.#server.actor.name, what, bytes);
        arrive();
      },
      { settles: false },
    );
  }

  #down(what: string, arrive: () => void, bytes?: Buffer, extraMs = 0): void {
    this.#pass(() => {
      const at = Math.max(this.#last.down, this.#simulation.now + this.#latency() + extraMs);
      this.#last.down = at;
      this.#simulation.after(at - this.#simulation.now, this.actor, () => {
        this.#simulation.trace.note(this.actor.name, `${what} ${this.port}`, bytes);
        arrive();
      });
    });
  }

  #pass(arrive: () => void): void {
    if (this.#isBlackHole) this.#held.push(arrive);
    else arrive();
  }

  get #isBlackHole(): boolean {
    for (const path of this.#paths) if (path.isBlackHole) return true;
    return false;
  }

  #latency(): number {
    let extraMs = 0;
    for (const path of this.#paths) extraMs += path.extraMs;
    return 0.1 + this.#random.next() * 0.9 + extraMs * this.#random.next();
  }
}

const networkError = (code: string) => Object.assign(new Error(`simulated ${code}`), { code });
