import type { Metrics } from '../../runtime/metrics.ts';
import type { BodyMemory } from './body-memory.ts';

/** Shows at each scrape how much of the budget is taken, and how many wait for it. */
export function watchMemory(memory: BodyMemory, metrics: Metrics): void {
  metrics.samplers.add(() => {
    for (const bodies of ['small', 'large'] as const) {
      metrics.bodyMemory.set({ bodies }, memory[bodies].taken);
      metrics.bodiesWaiting.set({ bodies }, memory[bodies].waiting);
    }
  });
}
