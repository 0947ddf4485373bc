import { createConnection } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Target } from './target.ts';

/** A machine that is there takes a connection at once, also while its broker is frozen. */
const CONNECT_MS = 5_000;

/** @param brokers host and port of each, the one with id 1 first */
export function realTarget(brokers: readonly string[]): Target {
  return {
    name: 'Kafka',
    now: () => performance.now(),
    connect: (broker, events) =>
      new Promise((resolve) => {
        const [host, port] = (brokers[broker - 1] ?? '').split(':');
        const socket = createConnection({ host, port: Number(port), noDelay: true });
        socket.setTimeout(CONNECT_MS, () => socket.destroy());
        socket
          .once('connect', () => {
            socket.setTimeout(0);
            const write = (bytes: Buffer) => void socket.write(bytes);
            const reset = () => {
              socket.removeAllListeners('data').removeAllListeners('close');
              socket.resetAndDestroy();
            };
            resolve({ write, reset });
          })
          .on('error', () => {})
          .on('data', events.data)
          .on('close', () => {
            events.closed();
            resolve(undefined);
          });
      }),
    async pass(ms, isOver = () => false) {
      const end = performance.now() + ms;
      // A timer is a millisecond late: most answers are there before.
      for (let turn = 0; turn < 200 && !isOver() && performance.now() < end; turn++) await immediate();
      while (!isOver() && performance.now() < end) await sleep(1);
      return isOver();
    },
  };
}

const immediate = () => new Promise<void>((resolve) => setImmediate(resolve));
