import type { Clock } from '../../../src/runtime/clock.ts';
import type { Logger } from '../../../src/runtime/logger.ts';
import type { ProcessContext } from '../../../src/runtime/process-shell.ts';

/** Answers every call with nothing. */
const nothing = new Proxy({} as never, { get: () => () => {} });
const metric = () => nothing;

/** What is logged as an error is one of Hookline itself, which no fault around it explains. */
const loggerOf = (onError: (message: string) => void): Logger =>
  new Proxy({} as Logger, {
    get: (_, name) =>
      name === 'error'
        ? (fields: { err?: unknown }, message: string) => onError(`${message}: ${fields.err}`)
        : () => {},
  });

/** What the components of a process share, without logs, metrics and probes: a simulation looks at what they do. */
export const quietContext = (clock: Clock, onError = (_message: string) => {}): ProcessContext => ({
  logger: loggerOf(onError),
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
