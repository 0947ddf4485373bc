import type { Simulation } from '../engine/simulation.ts';
import type { Cluster } from '../kafka/cluster.ts';
import type { Network } from '../net/network.ts';
import type { ModelProvider } from '../provider/model-provider.ts';
import type { BegunCalls } from '../provider/simulated-http.ts';

/** What is set up, and how. */
export type ControlSystem = {
  readonly replicas: number;
  readonly brokers: number;
  readonly minIsr: number;
  /** Of the command topic, and of the others. */
  readonly partitions: number;
  /** COMMAND_DEADLINE_MS. */
  readonly deadlineMs: number;
  /** CONTROL_SESSION_TIMEOUT_MS. */
  readonly sessionTimeoutMs: number;
  /** RECONCILE: what is done about what differs. */
  readonly reconcile: 'off' | 'report' | 'repair';
  readonly reconcileIntervalMs: number;
  readonly retiredKeysTtlMs: number;
};

export type Foreign = {
  readonly id: string;
  readonly url: string;
  readonly signingSecret: string;
  /** When its secrets are put into SECRETS_DIR: before that its ref is as any other. */
  readonly knownAt: number;
  /** A file has its id; without one it is found by its address. */
  readonly isNamed: boolean;
};

/** Everything around the control processes. It survives their crashes. */
export type ControlSite = {
  readonly simulation: Simulation;
  readonly system: ControlSystem;
  readonly network: Network;
  readonly cluster: Cluster;
  readonly provider: ModelProvider;
  /** Every request that a process has begun, in order. */
  readonly begun: BegunCalls;
  /** Subscriptions that were there before, by the ref that may adopt them: SECRETS_DIR has their secrets. */
  readonly foreign: ReadonlyMap<string, Foreign>;
};

export const PREFIX = 'payments';
export const COMMANDS = `${PREFIX}.commands`;
export const RESULTS = `${PREFIX}.command-results`;
export const SUBSCRIPTIONS = `${PREFIX}.subscriptions`;
export const DEAD_LETTERS = `${PREFIX}.dead-letter`;
/** PUBLIC_URL */
export const PUBLIC_URL = 'https://hooks.example';
