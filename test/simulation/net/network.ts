import type { Socket } from 'node:net';
import type { Random } from '../../faults/random.ts';
import type { Actor, Simulation } from '../engine/simulation.ts';
import { Connection, type Path, type Server } from './connection.ts';

/** Bytes as a process wrote them, whatever became of them. */
export type Write = { readonly at: number; readonly actor: Actor; readonly bytes: Buffer };

/** A network that delays, holds back and cuts what it carries; of one connection all arrives in its order. */
export class Network {
  readonly #simulation: Simulation;
  readonly #random: Random;
  readonly #servers = new Map<number, Server>();
  readonly #paths = new Map<number, Path>();
  /** By machine and port: what concerns only one machine of ours. */
  readonly #pathsFrom = new Map<string, Path>();
  readonly #connections = new Set<Connection>();
  /** What processes have written to their sockets, in order. */
  readonly writes: Write[] = [];

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
    this.#random = simulation.random('network');
  }

  listen(port: number, server: Server): void {
    this.#servers.set(port, server);
    this.#paths.set(port, { isBlackHole: false, extraMs: 0 });
  }

  /** What Node's `createConnection` does while the simulation runs. */
  connect = (options: { host: string; port: number; timeout?: number }): Socket => {
    const actor = this.#simulation.current as Actor;
    const port = Number(options.port);
    const server = this.#servers.get(port);
    const path = this.#paths.get(port);
    if (!server || !path) throw new Error(`nobody listens at ${options.host}:${port}`);
    const onWrite = (bytes: Buffer) => this.writes.push({ at: this.#simulation.now, actor, bytes });
    const ends = { actor, server, paths: [path, this.#pathFrom(actor.machine, port)], port, onWrite };
    const connection = new Connection(this.#simulation, this.#random, ends);
    this.#connections.add(connection);
    connection.onClosed = () => this.#connections.delete(connection);
    connection.open(options.timeout ?? 0);
    return connection.socket as unknown as Socket;
  };

  /** What passes between our process and this port from now on. What was held back goes on when it may. */
  setPath(port: number, change: Partial<Path>): void {
    Object.assign(this.#paths.get(port) ?? {}, change);
    this.#release(port);
  }

  /** The same between one machine of ours and this port. */
  setPathFrom(machine: string, port: number, change: Partial<Path>): void {
    Object.assign(this.#pathFrom(machine, port), change);
    this.#release(port);
  }

  #pathFrom(machine: string, port: number): Path {
    const key = `${machine} ${port}`;
    const path = this.#pathsFrom.get(key) ?? { isBlackHole: false, extraMs: 0 };
    this.#pathsFrom.set(key, path);
    return path;
  }

  #release(port: number): void {
    for (const connection of this.#connections) if (connection.port === port) connection.release();
  }

  /** Resets every connection to this port. */
  cut(port: number): void {
    for (const connection of this.#connections) if (connection.port === port) connection.reset();
  }

  /** The process has died: its machine closes what it had open. */
  closeAllOf(actor: Actor): void {
    for (const connection of this.#connections) if (connection.actor === actor) connection.clientGone();
  }

  /** How many sockets the process has not destroyed. */
  openOf(actor: Actor): number {
    return [...this.#connections].filter((one) => one.actor === actor && !one.socket.destroyed).length;
  }
}
