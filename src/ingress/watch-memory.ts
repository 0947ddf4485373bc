import type { Metrics } from '../runtime/metrics.ts';
import type { BodyMemory } from './body/body-memory.ts';
import { PROVEN, UNPROVED } from './body/open-body.ts';

const CLASSES = [
  { label: { class: 'unproved' }, of: UNPROVED },
  { label: { class: 'proven' }, of: PROVEN },
] as const;

/** Shows at each scrape how much of the budget is taken, how many wait for it, and how many gave way. */
export function watchMemory(memory: BodyMemory, metrics: Metrics): void {
  // From the start, so that the first one is an increase: an alert sees no other.
  for (const { label } of CLASSES) metrics.bodiesEvicted.inc(label, 0);
  metrics.samplers.add(() => {
    for (const bodies of ['small', 'large'] as const) {
      metrics.bodyMemory.set({ bodies }, memory[bodies].taken);
      metrics.bodiesWaiting.set({ bodies }, memory[bodies].waiting);
    }
    for (const { label, of } of CLASSES) metrics.bodiesEvicted.inc(label, memory.takeEvicted(of));
  });
}
