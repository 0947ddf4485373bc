import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { sendSignal, waitFrozen } from './process-identity.ts';

const BUSY_THREADS = `
const { Worker } = require('node:worker_threads');
for (let n = 0; n < 6; n++) new Worker('process.stdout.write("x"); for (;;);', { eval: true });
`;

const statesOf = (pid: number) =>
  readdirSync(`/proc/${pid}/task`).map(
    (thread) => /^State:\s+(\S)/m.exec(readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8'))?.[1],
  );

it.runIf(process.platform === 'linux')('a process is frozen when none of its threads runs', async () => {
  const child = spawn(process.execPath, ['-e', BUSY_THREADS]);
  const pid = Number(child.pid);
  try {
    await once(child.stdout, 'data');
    for (let n = 0; n < 10; n++) {
      sendSignal(pid, 'SIGSTOP');
      await waitFrozen(pid);
      expect(new Set(statesOf(pid))).toEqual(new Set(['T']));
      sendSignal(pid, 'SIGCONT');
    }
  } finally {
    child.kill('SIGKILL');
  }
});
