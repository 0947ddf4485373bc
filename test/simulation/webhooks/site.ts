import type { Actor, Simulation } from '../engine/simulation.ts';
import type { Cluster } from '../kafka/cluster.ts';
import type { Network } from '../net/network.ts';
import type { ModelBucket } from '../storage/model-objects.ts';
import type { ModelVolume } from '../storage/model-volume.ts';
import type { SealingKeyFile } from '../storage/sealing-key-file.ts';

/** What is set up, and how. */
export type System = {
  readonly hasSpool: boolean;
  readonly hasObjects: boolean;
  readonly brokers: number;
  readonly minIsr: number;
  readonly partitions: number;
  readonly sessions: number;
  /** PUBLISH_DEADLINE_MS. */
  readonly deadlineMs: number;
  /** BODY_STORE_DEADLINE_MS. */
  readonly objectDeadlineMs: number;
  readonly claimCheckBytes: number;
  /** Bytes of records that may wait for the brokers. */
  readonly backlogBytes: number;
  /** max.message.bytes of all topics but that for dead-letter records. */
  readonly topicBytes: number;
  /** Whether the process learns of that: else it has no right to. */
  readonly knowsLimits: boolean;
  /** Rows of the spool are sealed: SEALING_KEY_FILE. */
  readonly isSealed: boolean;
};

/** Everything around our process. It survives its crashes. */
export type Site = {
  readonly simulation: Simulation;
  readonly system: System;
  readonly network: Network;
  readonly cluster: Cluster;
  readonly volume: ModelVolume;
  readonly bucket: ModelBucket;
  /** SEALING_KEY_FILE. */
  readonly sealingKeys: SealingKeyFile;
  /** Bodies that were in the spool without a key when their key came back: others have passed them. */
  readonly passed: Buffer[];
  /** The machine of the object store. */
  readonly store: Actor;
};
