import type { Command, CommandResult, ListedDrift, ListedSubscription } from '../../core/command.ts';
import type { Lease } from '../../core/lease.ts';
import type { IncomingRecord } from '../../core/record.ts';
import type { SealingKeys } from '../../crypto/sealing.ts';
import type { Dialect } from '../../provider/dialect.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { DirSecrets } from '../../subscriptions/secrets-dir.ts';
import type { SubscriptionRecord } from '../../subscriptions/subscription-record.ts';
import type { CommandSession } from './provider-session.ts';

/** How long the keys of a deleted subscription verify, and how long they open what was verified before. */
export type RetiredTimes = { readonly liveMs: number; readonly keptMs: number };

/** What every operation needs, whatever the command. */
export type OperationDeps = {
  readonly clock: Clock;
  readonly dialect: Dialect;
  readonly publicUrl: string;
  readonly retired: RetiredTimes;
  readonly sealingKeys: SealingKeys;
  readonly subscriptions: SubscriptionView;
  readonly records: ControlRecords;
  /** What SECRETS_DIR holds of a ref now, or only these of its files; empty where it isn't set. */
  readonly dirSecrets: (ref: string, only?: readonly (keyof DirSecrets)[]) => Promise<DirSecrets>;
  /** The patterns of refs that a command topic takes; null where it takes every ref. */
  readonly refPatterns: (topic: string) => readonly string[] | null;
};

/** The state as far as it has been written, by whichever control process. */
export type SubscriptionView = {
  get(ref: string): SubscriptionRecord | undefined;
  all(): readonly SubscriptionRecord[];
  caughtUp(signal: AbortSignal): Promise<void>;
};

/** A lease that also holds the state's newest epoch: see claim-state.ts. */
export type StateLease = Lease & { readonly epoch: number };

/** What control writes, as long as it may. Each resolves when all in-sync replicas have it. */
export type ControlRecords = {
  storeResult(
    result: CommandResult,
    lease: Lease,
    /** `isSmallest`: if its topic does not take it, it waits until the topic does. */
    size?: { readonly isSmallest: boolean },
  ): Promise<void>;
  /** null forgets the ref. */
  storeSubscription(ref: string, record: SubscriptionRecord | null, lease: StateLease): Promise<void>;
  /** Stores what `read` gives, unless that is undefined. No other write of the ref comes between the two. */
  restoreSubscription(
    ref: string,
    read: () => Promise<SubscriptionRecord | null | undefined>,
    lease: StateLease,
  ): Promise<void>;
  /** Claims an epoch in one partition of the state. */
  storeClaim(partition: number, by: { epoch: number; claim: string }, lease: Lease): Promise<void>;
  storeDeadLetter(
    record: IncomingRecord,
    /** `commandId` where it could be read that far: it gets its result under it. */
    about: { reason: { code: string; message: string }; commandId: string | null },
    lease: Lease,
  ): Promise<void>;
};

/** What an operation works with: one command of one topic. */
export type OperationContext = OperationDeps & {
  readonly command: Command;
  /** The topic the command came from: the owner of what it creates. */
  readonly topic: string;
  readonly session: CommandSession;
  readonly lease: StateLease;
};

/** How an operation ended well. */
export type Settled = {
  readonly message: string;
  readonly subscriptionId?: string | null;
  readonly subscriptions?: readonly ListedSubscription[];
  readonly drift?: readonly ListedDrift[];
};

export type Operation = (context: OperationContext) => Promise<Settled>;
