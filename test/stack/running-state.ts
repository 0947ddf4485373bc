import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { findDocker, removeContainers } from './docker-engine.ts';
import { LABEL } from './docker-stack.ts';
import { endOurs, isOurs } from './process-identity.ts';
import { kafkaAnswers, registryAnswers } from './readiness.ts';
import type { Traces, Way } from './stack.ts';
import { StackError } from './stack-error.ts';

/** What `up` leaves behind for `down`, for a second `up` and for the tests. */
export type RunningState = {
  how: Way;
  brokers: string[];
  registryUrl: string;
  traces: Traces;
  startedAt: string;
};

const fileIn = (dir: string) => join(dir, 'running.json');

/** A file that can't be read as JSON counts as none: nothing that it names could be found. */
export function readRunning(dir: string): RunningState | null {
  try {
    return JSON.parse(readFileSync(fileIn(dir), 'utf8'));
  } catch {
    return null;
  }
}

/** Written beside and renamed, so that nobody reads half of it. */
export function writeRunning(dir: string, state: RunningState): void {
  const file = fileIn(dir);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.new`, `${JSON.stringify(state, null, 2)}\n`);
  renameSync(`${file}.new`, file);
}

/** Why the state is stale, or null when all of it runs and answers. */
export async function whyStale(state: RunningState): Promise<string | null> {
  if ('pids' in state.traces) {
    const { pids, runDir } = state.traces;
    const dead = pids.filter((pid) => !isOurs(pid, runDir));
    if (dead.length > 0) return `process ${dead.join(', ')} is gone`;
  }
  const { brokers, registryUrl } = state;
  const checks = brokers.map((broker) => kafkaAnswers(broker, brokers.length));
  if (registryUrl) checks.push(registryAnswers(registryUrl));
  const faults = (await Promise.all(checks)).filter((answer) => answer !== true);
  return faults.length > 0 ? faults.join(' ') : null;
}

/** The state of a stack that runs and answers, or null. */
export async function findRunning(dir: string): Promise<RunningState | null> {
  const state = readRunning(dir);
  return state && (await whyStale(state)) === null ? state : null;
}

/** The supervisor gives its programs 10 s. */
const GRACE_MS = 15_000;
const KILL_MS = 5_000;

/** Ends whatever is left of it, and forgets it. */
export async function removeRunning(dir: string, { traces }: RunningState): Promise<void> {
  if ('label' in traces) {
    // Containers of an engine that is down don't run either. The next `up` with it removes them.
    if ((await findDocker()).open) await removeContainers(LABEL, traces.label);
  } else {
    const { pids, runDir } = traces;
    // The first one is the supervisor, which ends the others. Where it was killed itself, they are orphans.
    await endOurs(pids.slice(0, 1), { runDir, signal: 'SIGTERM', deadlineMs: GRACE_MS });
    const ended = await endOurs(pids, { runDir, signal: 'SIGKILL', deadlineMs: KILL_MS });
    if (!ended) throw new StackError(`These processes can't be ended: ${pids.join(', ')}.`);
    await rm(runDir, { recursive: true, force: true, maxRetries: 5 });
  }
  rmSync(fileIn(dir), { force: true });
}
