import type { WaitStrategy } from 'testcontainers';
import { withLogTail } from './log-tail.ts';
import { StackError } from './stack-error.ts';
import { type Check, waitUntil } from './wait-until.ts';

type Container = Parameters<WaitStrategy['waitUntilReady']>[0];

const READY_MS = 120_000;

/**
 * Our own proof of readiness, as testcontainers wants it: it removes a container that isn't ready, so the log is
 * read here. A container that has ended isn't waited for.
 */
export function readyWhen(name: string, check: Check, signal: AbortSignal): WaitStrategy {
  const strategy: WaitStrategy = {
    async waitUntilReady(container: Container) {
      const look = async () => {
        const { State } = await container.inspect();
        if (!State.Running) throw new StackError(`${name}'s container has ended.`);
        return check();
      };
      await waitUntil(`${name} doesn't answer`, look, { deadlineMs: READY_MS, signal }).catch(
        async (error) => {
          throw withLogTail(error, `${name}'s container`, await readLogs(container));
        },
      );
    },
    withStartupTimeout: () => strategy,
    isStartupTimeoutSet: () => true,
    getStartupTimeout: () => READY_MS,
  };
  return strategy;
}

async function readLogs(container: Container): Promise<string> {
  const frames = await container.logs({ stdout: true, stderr: true, follow: false, tail: 50 });
  return unframe(frames);
}

/** Docker sends output in frames: one byte for the stream, three empty, four for the length, then that many bytes. */
function unframe(frames: Buffer): string {
  const texts: string[] = [];
  for (let at = 0; at + 8 <= frames.length; ) {
    const length = frames.readUInt32BE(at + 4);
    texts.push(frames.toString('utf8', at + 8, at + 8 + length));
    at += 8 + length;
  }
  return texts.join('');
}
