import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onPath } from '../../stack/on-path.ts';

const run = promisify(execFile);

/** What wrk saw. Times in microseconds; the percentiles are its own, over all answers. */
export type LoadSeen = {
  readonly requests: number;
  readonly micros: number;
  /** Answers other than 2xx and 3xx. */
  readonly refused: number;
  readonly socketErrors: number;
  readonly timeouts: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
};

/** @throws Error saying how to get it, where wrk is missing */
export function findWrk(env: NodeJS.ProcessEnv): string {
  const wrk = onPath('wrk', env);
  if (!wrk) throw new Error('wrk is missing: it makes the load. On Debian and Ubuntu: apt-get install wrk');
  return wrk;
}

export type Load = {
  readonly wrk: string;
  /** Address and path of the webhook. */
  readonly url: URL;
  readonly requestsFile: string;
  readonly connections: number;
  readonly seconds: number;
};

/** Sends as fast as it is answered, over so many connections with one request under way in each. */
export async function runWrk({ wrk, url, requestsFile, connections, seconds }: Load): Promise<LoadSeen> {
  const script = join(import.meta.dirname, 'requests.lua');
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '30s', '-s', script, url.origin];
  const env = { ...process.env, REQUESTS: requestsFile, WEBHOOK_PATH: url.pathname };
  const { stdout } = await run(wrk, args, { env, timeout: (seconds + 60) * 1_000 });
  const line = stdout.split('\n').findLast((one) => one.startsWith('{'));
  if (line === undefined) throw new Error(`wrk told no result: ${stdout}`);
  return JSON.parse(line) as LoadSeen;
}
