import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import type { Timer } from '../../../src/runtime/clock.ts';
import type { Simulation } from './simulation.ts';

/** How a connection is opened by Node's own function. */
export type Connect = (options: { readonly host: string; readonly port: number }) => net.Socket;

/** What the functions of Node do while a simulation runs. */
export type TakenOver = {
  simulation: Simulation | undefined;
  connect: Connect | undefined;
  /** Chance of the simulation. */
  random: () => number;
  /** The same for ids and keys. */
  randomBytes: (size: number) => Buffer;
};

const NOTHING_TAKEN: TakenOver = {
  simulation: undefined,
  connect: undefined,
  random: () => 0,
  randomBytes: (size) => Buffer.alloc(size),
};

/**
 * Puts simulated time, chance and connections below everything in this process that asks Node for them: the Kafka clients
 * do, and take no clock as an argument. What acts outside of a simulation's events gets the real ones. For a process that does
 * nothing but simulate: it is not undone.
 */
export function takeOver(): TakenOver {
  const taken = { ...NOTHING_TAKEN };
  takeTimers(taken);
  takeClocks(taken);
  takeRandomBytes(taken);
  poolSmallBuffers();
  const { createConnection } = net;
  const connect = (...args: unknown[]) => {
    const [options, onConnect] = args as [{ host: string; port: number }, (() => void) | undefined];
    if (!taken.simulation?.current || !taken.connect) return Reflect.apply(createConnection, net, args);
    const socket = taken.connect(options);
    if (onConnect) socket.once('connect', onConnect);
    return socket;
  };
  Object.assign(net, { createConnection: connect, connect });
  syncBuiltinESMExports();
  return taken;
}

/** Runs `work` while what this process asks Node for comes from the simulation. Errors that nobody handles are noted there. */
export async function within<T>(
  taken: TakenOver,
  { simulation, connect }: { readonly simulation: Simulation; readonly connect: Connect },
  work: () => Promise<T>,
): Promise<T> {
  const libraries = simulation.random('libraries');
  const bytes = simulation.random('bytes');
  const randomBytes = (size: number) => Buffer.alloc(size).map(() => bytes.below(256)) as Buffer;
  Object.assign(taken, { simulation, connect, random: () => libraries.next(), randomBytes });
  const onUnhandled = (error: unknown) => simulation.unhandled.push(String((error as Error)?.stack ?? error));
  process.on('unhandledRejection', onUnhandled);
  try {
    return await work();
  } finally {
    process.off('unhandledRejection', onUnhandled);
    Object.assign(taken, NOTHING_TAKEN);
    simulation.end();
  }
}

/** What Node's timers return, as far as the clients use it. */
class Handle {
  readonly #start: () => Timer;
  #timer: Timer;

  constructor(start: () => Timer) {
    this.#start = start;
    this.#timer = start();
  }

  cancel(): void {
    this.#timer.cancel();
  }

  refresh(): this {
    this.#timer.cancel();
    this.#timer = this.#start();
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }
}

function takeTimers(taken: TakenOver): void {
  const real = { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval };
  const take =
    (repeats: boolean, otherwise: (...args: never[]) => unknown) =>
    (work: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
      const { simulation } = taken;
      const actor = simulation?.current;
      if (!simulation || !actor) return Reflect.apply(otherwise, globalThis, [work, ms, ...args]);
      return new Handle(() =>
        simulation.after(ms, actor, () => work(...args), repeats ? { everyMs: Math.max(1, ms) } : {}),
      );
    };
  const clear = (otherwise: (handle: never) => void) => (handle: unknown) => {
    if (isHandle(handle)) handle.cancel();
    else otherwise(handle as never);
  };
  Object.assign(globalThis, {
    setTimeout: take(false, real.setTimeout as never),
    setInterval: take(true, real.setInterval as never),
    setImmediate: (work: (...args: unknown[]) => void, ...args: unknown[]) => {
      const { simulation } = taken;
      const actor = simulation?.current;
      if (!simulation || !actor) return Reflect.apply(real.setImmediate, globalThis, [work, ...args]);
      return new Handle(() => simulation.after(0, actor, () => work(...args)));
    },
    clearTimeout: clear(real.clearTimeout),
    clearInterval: clear(real.clearInterval),
  });
}

const isHandle = (value: unknown): value is Handle => value instanceof Handle;

function takeClocks(taken: TakenOver): void {
  const real = { wall: Date.now, now: performance.now.bind(performance), random: Math.random };
  Date.now = () => (taken.simulation?.current ? taken.simulation.wall() : real.wall());
  performance.now = () => (taken.simulation?.current ? taken.simulation.now : real.now());
  Math.random = () => (taken.simulation?.current ? taken.random() : real.random());
}

/** Ids, keys and nonces, where they are asked for without a callback. */
function takeRandomBytes(taken: TakenOver): void {
  const { randomBytes, randomUUID } = crypto;
  const isTaken = () => taken.simulation?.current !== undefined;
  Object.assign(crypto, {
    randomBytes: (size: number, ...rest: unknown[]) =>
      isTaken() && rest.length === 0
        ? taken.randomBytes(size)
        : Reflect.apply(randomBytes, crypto, [size, ...rest]),
    randomUUID: (...args: unknown[]) =>
      isTaken() ? uuidOf(taken.randomBytes(16)) : Reflect.apply(randomUUID, crypto, args),
  });
}

/** Node's own default is 8 KiB. */
const POOL_BYTES = 65_536;

/**
 * A larger pool is renewed less often, and small zeroed buffers are slices of it too: kafkajs takes several of 512 bytes for each request,
 * and memory of their own takes three to five times as long. What they hold is the same.
 */
function poolSmallBuffers(): void {
  const { alloc } = Buffer;
  Buffer.poolSize = POOL_BYTES;
  Buffer.alloc = (size, ...fill: [string?, BufferEncoding?]) =>
    fill.length === 0 && size < POOL_BYTES / 2 ? Buffer.allocUnsafe(size).fill(0) : alloc(size, ...fill);
}

/** Version 4. */
function uuidOf(bytes: Buffer): string {
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
