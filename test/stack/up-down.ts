import { join } from 'node:path';
import { underLock } from './lock.ts';
import { type RunningState, readRunning, removeRunning, whyStale, writeRunning } from './running-state.ts';
import type { StackOptions } from './stack.ts';
import { StackError } from './stack-error.ts';
import { startStack } from './start-stack.ts';

type Turn = { dir: string; onProgress: (line: string) => void; signal: AbortSignal };

/** Longer than any start, the first download included. */
const TURN_MS = 20 * 60_000;

/** Starts a stack that stays, or finds the one that runs. Two at once start one. */
export function up(options: Omit<StackOptions, 'keep'> & Turn): Promise<RunningState> {
  return inTurn(options, async () => {
    const earlier = readRunning(options.dir);
    if (earlier) {
      const stale = await whyStale(earlier);
      if (stale === null) return sameAs(options, earlier);
      options.onProgress(`removing an earlier one: ${stale}`);
      await removeRunning(options.dir, earlier);
    }
    return startAndLeave(options);
  });
}

/** The running one, if it is what was asked for: it would be a surprise to get another and not to notice. */
function sameAs({ nodes = 1, kafkaPort, registryPort }: StackOptions, running: RunningState): RunningState {
  const { brokers, registryUrl } = running;
  const kafkaFits = kafkaPort === undefined || brokers[0]?.endsWith(`:${kafkaPort}`);
  const registryFits = registryPort === undefined || new URL(registryUrl).port === String(registryPort);
  if (brokers.length === nodes && kafkaFits && registryFits) return running;
  throw new StackError(`Another one runs already, take it down first: ${brokers.join(',')} ${registryUrl}`);
}

/** Ends what `up` started. False where there is nothing. */
export function down(turn: Turn): Promise<boolean> {
  return inTurn(turn, async () => {
    const running = readRunning(turn.dir);
    if (running) await removeRunning(turn.dir, running);
    return running !== null;
  });
}

async function startAndLeave(options: StackOptions & Turn): Promise<RunningState> {
  // What the environment names is most often an earlier `up`, whose exports are still in the shell.
  const { KAFKA_BROKERS: _, SCHEMA_REGISTRY_URL: __, ...env } = options.env;
  const stack = await startStack({ ...options, env, keep: true });
  const { how, brokers, registryUrl, traces } = stack;
  if (traces === null) throw new Error('It was started here, so it has traces.');
  const running = { how, brokers, registryUrl, traces, startedAt: new Date().toISOString() };
  // In this order: if this process is killed in between, the stack ends and the file is stale, which is noticed.
  writeRunning(options.dir, running);
  await stack.leave();
  return running;
}

const inTurn = <T>({ dir, signal, onProgress }: Turn, work: () => Promise<T>): Promise<T> => {
  const onWait = () => onProgress('waiting for another up or down');
  return underLock(join(dir, 'up.lock'), { deadlineMs: TURN_MS, signal, onWait }, work);
};
