import { fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { withDeadline } from './wait-until.ts';

export type Program = { command: string; args: readonly string[]; logFile: string };
export type Exit = { code: number | null; signal: NodeJS.Signals | null };

/** A program that the supervisor started. */
export type Supervised = {
  readonly pid: number;
  readonly exit: Promise<Exit>;
  /** Null while it runs. */
  exited(): Exit | null;
};

export type Supervisor = {
  readonly pid: number;
  run(program: Program): Promise<Supervised>;
  /** Cuts the bond to this process: what runs stays until somebody sends the supervisor a SIGTERM. */
  leave(): Promise<void>;
  /** Ends every program at once, gently once they were left, and removes the folder. */
  end(): Promise<void>;
};

type Ask = ({ do: 'run' } & Program) | { do: 'leave' } | { do: 'end' };
export type Order = Ask & { id: number };
export type Report =
  | { id: number; pid?: number }
  | { id: number; fault: string }
  | ({ exited: number } & Exit);

const ANSWER_MS = 10_000;
const END_MS = 10_000;

/**
 * Starts the process that owns the programs of one run and its folder. It notices by the channel to this process when
 * this one ends, even by SIGKILL, and then ends the programs: none is left behind. It leads a process group of its own,
 * so that Ctrl-C reaches this process alone, which decides what becomes of them.
 */
export async function startSupervisor(runDir: string): Promise<Supervisor> {
  const log = openSync(join(runDir, 'supervisor.log'), 'a');
  const child = fork(join(import.meta.dirname, 'supervisor.ts'), [runDir], {
    detached: true,
    execArgv: [],
    stdio: ['ignore', log, log, 'ipc'],
  });
  closeSync(log);
  await once(child, 'spawn');

  const waiting = new Map<number, PromiseWithResolvers<Supervised | null>>();
  const programs = new Map<number, (exit: Exit) => void>();
  child.on('message', (report: Report) => {
    if ('exited' in report) {
      programs.get(report.exited)?.({ code: report.code, signal: report.signal });
    } else if ('fault' in report) {
      waiting.get(report.id)?.reject(new Error(report.fault));
    } else {
      // Noted here and not where the answer is awaited: the report of a quick end can come in the same breath.
      const program = report.pid === undefined ? null : supervised(report.pid, programs);
      waiting.get(report.id)?.resolve(program);
    }
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve())).then(() => {
    for (const { reject } of waiting.values()) reject(new Error('The supervisor of the stack has ended.'));
    for (const exit of programs.values()) exit({ code: null, signal: 'SIGKILL' });
  });

  let orders = 0;
  function order(ask: Ask): Promise<Supervised | null> {
    const id = ++orders;
    const answer = Promise.withResolvers<Supervised | null>();
    waiting.set(id, answer);
    const late = new Error(`The supervisor of ${runDir} doesn't answer.`);
    const timer = setTimeout(() => answer.reject(late), ANSWER_MS);
    child.send({ id, ...ask }, (error) => error && answer.reject(error));
    return answer.promise.finally(() => {
      clearTimeout(timer);
      waiting.delete(id);
    });
  }

  return {
    pid: child.pid ?? 0,
    async run(program) {
      const running = await order({ do: 'run', ...program });
      if (running === null) throw new Error(`The supervisor didn't say how ${program.command} runs.`);
      return running;
    },
    async leave() {
      await order({ do: 'leave' });
      child.disconnect();
      child.unref();
    },
    async end() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      if (child.connected) await order({ do: 'end' }).catch(() => {});
      else child.kill('SIGTERM');
      if ((await withDeadline(ended, END_MS, 'late')) !== 'late') return;
      child.kill('SIGKILL');
      throw new Error(`The supervisor of ${runDir} didn't end within ${END_MS / 1000} s.`);
    },
  };
}

function supervised(pid: number, programs: Map<number, (exit: Exit) => void>): Supervised {
  let exited: Exit | null = null;
  const { promise: exit, resolve } = Promise.withResolvers<Exit>();
  programs.set(pid, (how) => {
    exited = how;
    programs.delete(pid);
    resolve(how);
  });
  return { pid, exit, exited: () => exited };
}
