import type { Receipt } from '../../../src/core/delivery.ts';
import type { Actor } from '../engine/simulation.ts';
import type { Webhook } from './messages.ts';
import type { Site } from './site.ts';

/** One life of a process that takes webhooks. */
export type Receiver = {
  readonly actor: Actor;
  /** Bytes of records that wait for the brokers. */
  readonly backlogBytes: number;
  /** Deliveries in its spool. */
  readonly outstanding: number;
  /** @throws HooklineError */
  receive(webhook: Webhook): Promise<Receipt>;
  /** Why it is not ready, or null. */
  trouble(): string | null;
  /** The orderly end; requests in progress have ended before. */
  stop(): Promise<void>;
};

export type StartReceiver = (site: Site, actor: Actor) => Promise<Receiver>;
