import type { Metrics } from './metrics.ts';
import type { Probes } from './probes.ts';
import type { Part } from './process-shell.ts';

/** Often enough to find a hold-up of a few hundredths of a second, and 20 wake-ups a second cost nothing. */
const TICK_MS = 50;

/** What every process tells of itself: whether it is ready, and how long its event loop was held up. */
export function observeProcess({ metrics, probes }: { metrics: Metrics; probes: Probes }): Part {
  let longestMs = 0;
  let lastTick = performance.now();
  const note = () => {
    const now = performance.now();
    longestMs = Math.max(longestMs, now - lastTick - TICK_MS);
    lastTick = now;
  };
  // Node's own histogram of the loop's delay misses single long hold-ups.
  const timer = setInterval(note, TICK_MS);
  timer.unref();
  metrics.samplers.add(() => {
    metrics.ready.set(probes.readiness().ok ? 1 : 0);
    // The scrape may come before the tick that was held up along with it.
    if (performance.now() - lastTick > TICK_MS) note();
    metrics.loopDelay.set(longestMs / 1_000);
    longestMs = 0;
  });
  return { stop: async () => clearInterval(timer) };
}
