import type { Clock } from '../../../src/runtime/clock.ts';
import type { ProcessContext } from '../../../src/runtime/process-shell.ts';

/** Answers every call with nothing. */
const nothing = new Proxy({} as never, { get: () => () => {} });
const metric = () => nothing;

/** What the components of a process share, without logs, metrics and probes: a simulation looks at what they do. */
export const quietContext = (clock: Clock): ProcessContext => ({
  logger: nothing,
  clock,
  metrics: { registry: nothing, samplers: new Set(), counter: metric, gauge: metric, histogram: metric },
  probes: nothing,
  components: {
    add: (_name, component) => component,
    stopping: new AbortController().signal,
    fail: () => {},
    remaining: () => [],
    stopAll: async () => {},
  },
  gate: nothing,
});
