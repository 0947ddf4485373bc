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
};

/**
 * Puts simulated time, chance and connections below everything in this process that asks Node for them: the Kafka clients
 * do, and take no clock as an argument. What acts outside of a simulation's events gets the real ones. For a process that does
 * nothing but simulate: it is not undone.
 */
export function takeOver(): TakenOver {
  const taken: TakenOver = { simulation: undefined, connect: undefined, random: () => 0 };
  takeTimers(taken);
  takeClocks(taken);
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

/** What Node's timers return, as far as the clients use it. */
type Handle = { cancel(): void; refresh(): Handle; ref(): Handle; unref(): Handle; hasRef(): boolean };

function handleOf(start: () => Timer): Handle {
  let timer = start();
  const handle: Handle = {
    cancel: () => timer.cancel(),
    refresh() {
      timer.cancel();
      timer = start();
      return handle;
    },
    ref: () => handle,
    unref: () => handle,
    hasRef: () => true,
  };
  return handle;
}

function takeTimers(taken: TakenOver): void {
  const real = { setTimeout, setInterval, clearTimeout, clearInterval };
  const take =
    (repeats: boolean, otherwise: (...args: never[]) => unknown) =>
    (work: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
      const { simulation } = taken;
      const actor = simulation?.current;
      if (!simulation || !actor) return Reflect.apply(otherwise, globalThis, [work, ms, ...args]);
      return handleOf(() =>
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
    clearTimeout: clear(real.clearTimeout),
    clearInterval: clear(real.clearInterval),
  });
}

const isHandle = (value: unknown): value is Handle =>
  typeof value === 'object' && value !== null && 'cancel' in value;

function takeClocks(taken: TakenOver): void {
  const real = { wall: Date.now, now: performance.now.bind(performance), random: Math.random };
  Date.now = () => (taken.simulation?.current ? taken.simulation.wall() : real.wall());
  performance.now = () => (taken.simulation?.current ? taken.simulation.now : real.now());
  Math.random = () => (taken.simulation?.current ? taken.random() : real.random());
}
