/**
 * Loaded into the ingress that is measured (`--import`): the gaps of a 1 ms timer, in which nothing else could run either.
 * At SIGWINCH it tells the longest since the last time, what is resident, and the heap once it is collected.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const TICK_MS = 1;
  let last = performance.now();
  let lastCpu = process.threadCpuUsage();
  let stall = { ms: 0, cpuMs: 0 };
  setInterval(() => {
    const now = performance.now();
    const cpu = process.threadCpuUsage();
    const ms = now - last - TICK_MS;
    // Of the gap, what this thread worked itself; in the rest it waited for a core.
    if (ms > stall.ms) stall = { ms, cpuMs: (cpu.user + cpu.system - lastCpu.user - lastCpu.system) / 1_000 };
    last = now;
    lastCpu = cpu;
  }, TICK_MS).unref();
  process.on('SIGWINCH', () => {
    const told = stall;
    collect();
    collect();
    const { rss, heapUsed } = process.memoryUsage();
    process.stdout.write(`${JSON.stringify({ msg: 'probe', stall: told, rss, heapUsed })}\n`);
    last = performance.now();
    lastCpu = process.threadCpuUsage();
    stall = { ms: 0, cpuMs: 0 };
  });
}
