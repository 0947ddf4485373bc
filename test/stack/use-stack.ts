import { namesVersions } from './kafka-parts.ts';
import { findRunning } from './running-state.ts';
import { type Stack, type StackOptions, stackOf } from './stack.ts';
import { LOCAL_DIR, startStack } from './start-stack.ts';

/**
 * The stack that `make up` left running, if there is one, else what {@link startStack} comes by. What the environment
 * names goes before both. A left stack stays as it is when this one is stopped.
 */
export async function useStack(options: StackOptions): Promise<Stack> {
  const { env, dir = LOCAL_DIR } = options;
  const other = env.KAFKA_BROKERS || env.HOOKLINE_STACK || namesVersions(env) || options.way || options.kafka;
  const running = other ? null : await findRunning(dir);
  if (running === null || running.brokers.length < (options.nodes ?? 1)) return startStack(options);
  options.onProgress?.(`using what make up started: ${running.brokers.join(',')}`);
  const { brokers, registryUrl, how } = running;
  return stackOf({ brokers, registryUrl, how, traces: null, stop: async () => {}, leave: async () => {} });
}
