/** `starter.fixture.ts program|kafka FOLDER`: a process to be killed. Starts something, prints its traces, stays. */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { startStack } from './start-stack.ts';
import { startSupervisor } from './supervise.ts';

const [what, dir = ''] = process.argv.slice(2);

if (what === 'kafka') {
  const { traces } = await startStack({ env: process.env, way: 'jvm', withRegistry: false, dir });
  console.log(JSON.stringify(traces));
} else {
  const runDir = mkdtempSync(join(dir, 'run-'));
  const supervisor = await startSupervisor(runDir);
  // It outlives SIGTERM: the harder case, and a JVM can be one while it starts.
  const args = ['-e', 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1e6)', runDir];
  const { pid } = await supervisor.run({
    command: process.execPath,
    args,
    logFile: join(runDir, 'program.log'),
  });
  console.log(JSON.stringify({ runDir, pids: [supervisor.pid, pid] }));
}
