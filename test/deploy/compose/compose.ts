import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ROOT } from '../../support/source-tree.ts';

/** Under a name of its own, so that it takes nothing from one that somebody works with. */
const FILE = ['compose', '-f', 'deploy/compose.yaml', '-p', 'hookline-test'];
/** Of the first start, which may have to pull images. */
const START_MS = 15 * 60_000;

const docker = async (args: readonly string[], timeout = 120_000): Promise<string> => {
  const options = { cwd: ROOT, timeout, maxBuffer: 16 * 1024 * 1024 };
  return (await promisify(execFile)('docker', [...FILE, ...args], options)).stdout;
};

export const compose = {
  /** Comes back when all run that others wait for: Kafka is healthy, topics and schemas are made. */
  up: () => docker(['up', '-d', '--quiet-pull'], START_MS),
  stop: () => docker(['stop', '--timeout', '30']),
  down: () => docker(['down', '--volumes', '--timeout', '30']),
  /** The operator's tool, in the container of control. */
  hookline: (...args: string[]) => docker(['exec', '-T', 'control', 'hookline', ...args]),
  /** Each service with its state and, once it has ended, its exit code. */
  services: async (): Promise<{ Service: string; State: string; ExitCode: number }[]> =>
    (await docker(['ps', '--all', '--format', 'json']))
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line)),
};
