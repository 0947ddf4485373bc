import type { FaultCluster } from './cluster/fault-cluster.ts';
import { judge, type Verdict } from './oracle/judge.ts';
import { readBack } from './oracle/read-back.ts';
import { Stored } from './oracle/stored.ts';
import type { FaultTime } from './schedule/run-steps.ts';
import type { System, SystemKind } from './system/system.ts';
import type { Sent } from './traffic/sender.ts';

/** What came of one system in one schedule. */
export type Outcome = {
  readonly schedule: string;
  readonly system: SystemKind;
  readonly seed: number;
  /** Whether every valid webhook had to be answered 200, whatever was done meanwhile. */
  readonly mustTakeAll: boolean;
  readonly verdict: Verdict;
  /** From the end of the faults until every entity had a fresh event acknowledged; null where that took too long. */
  readonly recoveredAfterMs: number | null;
  /** From the end of the faults until the spool was empty; null where that took too long, left out where there is none. */
  readonly drainedAfterMs?: number | null;
  /** Produce requests that the proxies saw, and those whose response was hit. */
  readonly produce: { readonly requests: number; readonly hit: number };
  /** Seconds from the first request to the last answer. */
  readonly seconds: number;
};

export type Ended = {
  readonly cluster: FaultCluster;
  readonly seed: number;
  readonly system: System;
  readonly sent: Sent;
  readonly faultTimes: readonly FaultTime[];
};

/** Reads back all that a system stored, which has ended, and holds it against what it answered. */
export async function judgeEnded({ cluster, seed, system, sent, faultTimes }: Ended): Promise<Verdict> {
  const { traits, eventTopics, otherTopics, deadlineMs } = system;
  const stored = new Stored({ seed, checksIds: traits.hasEventIds });
  await readBack({
    kafka: cluster.kafka,
    registryUrl: cluster.registryUrl,
    topics: [...eventTopics, ...otherTopics],
    into: stored,
  });
  return judge({ sent, stored, faultTimes, deadlineMs });
}
