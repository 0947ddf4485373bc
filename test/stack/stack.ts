import type { KafkaCluster, KafkaOptions } from './kafka-cluster.ts';

export type Env = Readonly<Record<string, string | undefined>>;
export type Way = 'environment' | 'docker' | 'jvm';

export type StackOptions = {
  /** Where KAFKA_BROKERS, SCHEMA_REGISTRY_URL, HOOKLINE_STACK, the versions, JAVA_HOME and PATH are read. */
  env: Env;
  nodes?: 1 | 3;
  /** The first node's port, the others follow by one. A free one unless given; so is the registry's. */
  kafkaPort?: number | undefined;
  registryPort?: number | undefined;
  /** Where runs keep their files: `.local/stack` unless given. */
  dir?: string | undefined;
  withRegistry?: boolean;
  kafka?: KafkaOptions;
  /** The address of this machine that all of it listens on, 127.0.0.1 unless given. JVM only. */
  loopback?: '127.0.0.1' | '::1';
  /** For a test of seconds: it starts with less of the processor's work, and is slower later. JVM only. */
  shortLived?: boolean;
  /** The one way to take, whatever else would do. It goes before HOOKLINE_STACK. */
  way?: 'docker' | 'jvm' | undefined;
  /** It may outlive this process: see {@link Stack.leave}. */
  keep?: boolean;
  onProgress?: ((line: string) => void) | undefined;
  signal?: AbortSignal | undefined;
};

/** The options with what they leave out filled in: what each way of starting gets. */
export type StartInput = Omit<StackOptions, 'way'> &
  Required<Pick<StackOptions, 'nodes' | 'withRegistry' | 'keep'>> & {
    dir: string;
    onProgress: (line: string) => void;
    signal: AbortSignal;
  };

/** Processes whose arguments name the run's folder, their supervisor first, or the value of the containers' label. */
export type Traces = { pids: number[]; runDir: string } | { label: string };

export type Stack = AsyncDisposable & {
  readonly brokers: string[];
  /** The registry's Confluent API, `/apis/ccompat/v7` included. Empty where it was started without one. */
  readonly registryUrl: string;
  readonly how: Way;
  /** The brokers as processes that can be killed and started again: only where they are plain JVM programs. */
  readonly kafka?: KafkaCluster;
  /** Ends it and removes its files. What the environment names is left alone. */
  stop(): Promise<void>;
  /** How to find it again from another process. Null where it isn't ours. */
  readonly traces: Traces | null;
  /** Lets a stack that was started with `keep` run on after this process. */
  leave(): Promise<void>;
};

/** A stack out of its parts: `stop` and disposal are one, and the second call gets the first one's promise. */
export function stackOf(parts: Omit<Stack, typeof Symbol.asyncDispose>): Stack {
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= parts.stop());
  return { ...parts, stop, [Symbol.asyncDispose]: stop };
}
