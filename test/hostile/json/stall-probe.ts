/**
 * Loaded into the ingress under attack (`--import`): the gaps of a 1 ms timer. At SIGWINCH it tells the longest since the
 * last time. The bench's probe also collects garbage when it is asked, which honest senders would feel.
 */
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const TICK_MS = 1;
  const cpuMs = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  let last = performance.now();
  let lastCpu = cpuMs();
  let longest = { ms: 0, cpuMs: 0 };
  setInterval(() => {
    const now = performance.now();
    const cpu = cpuMs();
    const ms = now - last - TICK_MS;
    // Of the gap, what this thread worked itself; in the rest it waited for a core.
    if (ms > longest.ms) longest = { ms, cpuMs: cpu - lastCpu };
    last = now;
    lastCpu = cpu;
  }, TICK_MS).unref();
  process.on('SIGWINCH', () => {
    process.stdout.write(`${JSON.stringify({ msg: 'probe', stall: longest })}\n`);
    longest = { ms: 0, cpuMs: 0 };
  });
}
