import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { waitUntil } from './wait-until.ts';

/**
 * Whether the process runs and its arguments name the run's folder. The number alone says nothing: after a restart of
 * the machine it can be anybody's, and that one must be neither trusted nor killed.
 */
export const isOurs = (pid: number, runDir: string): boolean => commandLineOf(pid).includes(runDir);

/** Empty for what doesn't run, and for what has ended but was not yet waited for by its parent. */
function commandLineOf(pid: number): string {
  try {
    if (existsSync('/proc/self/cmdline')) return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
  } catch {
    return '';
  }
}

/** Sends it, unless the process has ended in the meantime. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

const FREEZE_MS = 10_000;

/**
 * Waits until each of its threads has stopped: a thread takes a SIGSTOP when it next runs, and what it did before still
 * goes out. Only Linux tells.
 */
export function waitFrozen(pid: number): Promise<void> {
  return waitUntil(`Process ${pid} isn't frozen`, async () => isFrozen(pid) || 'Some of its threads run.', {
    deadlineMs: FREEZE_MS,
    signal: AbortSignal.timeout(2 * FREEZE_MS),
    everyMs: 1,
  });
}

function isFrozen(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).every((thread) => {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
      return stat.charAt(stat.lastIndexOf(')') + 2) === 'T';
    });
  } catch {
    // No Linux, or a thread has ended meanwhile.
    return !existsSync(`/proc/${pid}/task`);
  }
}

/** Sends the signal to those of the processes that are ours, and waits until none of them is left or the time is up. */
export async function endOurs(
  pids: readonly number[],
  { runDir, signal, deadlineMs }: { runDir: string; signal: NodeJS.Signals; deadlineMs: number },
): Promise<boolean> {
  const ours = () => pids.filter((pid) => isOurs(pid, runDir));
  for (const pid of ours()) sendSignal(pid, signal);
  const gone = waitUntil('They still run', async () => ours().length === 0 || 'Not all of them.', {
    deadlineMs,
    signal: AbortSignal.timeout(2 * deadlineMs),
  });
  return gone.then(
    () => true,
    () => false,
  );
}
