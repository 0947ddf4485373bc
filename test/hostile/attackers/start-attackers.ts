import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { AttackPlan, AttackSeen } from './plan.ts';

export type Attackers = AsyncDisposable & {
  /** Settled when the process is there and attacks, or has ended. */
  readonly begun: Promise<unknown>;
  /** Settled when an attack of a fixed count has ended by itself. */
  readonly done: Promise<unknown>;
  /** Ends the attack. */
  stop(): Promise<AttackSeen>;
};

const ENDED: AttackSeen = { opened: 0, closed: 0, bytesSent: 0, answers: {} };

/** Begins an attack from a process of its own, on loopback only. */
export function startAttackers(plan: AttackPlan): Attackers {
  const child = fork(join(import.meta.dirname, 'main.ts'), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  child.send(plan);
  const exited = once(child, 'exit');
  const told = (word: string) =>
    new Promise<void>((resolve) => {
      child.on('message', (message) => message === word && resolve());
      child.once('exit', () => resolve());
    });
  const begun = told('begun');
  const done = told('done');
  const end = async () => {
    const seen = new Promise<AttackSeen>((resolve) => {
      child.on('message', (message) => typeof message === 'object' && resolve(message as AttackSeen));
      child.once('exit', () => resolve(ENDED));
    });
    if (child.connected) child.send('stop');
    const all = await seen;
    await exited;
    return all;
  };
  let ended: Promise<AttackSeen> | undefined;
  const stop = () => {
    ended ??= end();
    return ended;
  };
  return {
    begun,
    done,
    stop,
    async [Symbol.asyncDispose]() {
      const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await stop();
      clearTimeout(timer);
    },
  };
}
