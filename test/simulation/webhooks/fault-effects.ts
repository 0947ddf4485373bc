import { CODES } from '../kafka/partition.ts';
import type { AnswerFault } from '../kafka/serve-produce.ts';
import type { ObjectFault } from '../storage/model-objects.ts';
import type { Host } from './host.ts';
import type { Site, System } from './site.ts';

/** What a fault means for its kind. */
export type FaultValues = {
  readonly at: number;
  /** How long it lasts. */
  readonly ms: number;
  /** Which broker; 0 for all. */
  readonly broker: number;
  readonly chance: number;
  /** What it means depends on the kind. */
  readonly value: number;
};

export type Scene = { readonly site: Site; readonly host: Host };
/** Begins the fault. @returns what ends it */
export type Begin = (scene: Scene, fault: FaultValues) => (() => void) | undefined;

export type Kind = {
  readonly begin: Begin;
  /** Longest duration, in milliseconds. */
  readonly most: number;
  readonly isPossible?: (system: System) => boolean;
};

/** Answers that brokers give although nothing is wrong with the request. */
const ERRORS = Object.entries(CODES)
  .filter(
    ([name]) => name !== 'NONE' && name !== 'TOPIC_AUTHORIZATION_FAILED' && name !== 'MESSAGE_TOO_LARGE',
  )
  .map(([, code]) => code);
/** Those after which the batch may have been written all the same. */
const UNCERTAIN: ReadonlySet<number> = new Set([
  CODES.UNKNOWN_SERVER_ERROR,
  CODES.REQUEST_TIMED_OUT,
  CODES.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
]);

export const answering =
  (faultOf: (fault: FaultValues) => AnswerFault): Begin =>
  ({ site: { cluster } }, fault) => {
    const met = { fault: faultOf(fault), chance: fault.chance };
    const ids = idsOf(cluster.brokers.length, fault.broker);
    for (const id of ids) cluster.answerFaults.set(id, met);
    return () => {
      for (const id of ids) if (cluster.answerFaults.get(id) === met) cluster.answerFaults.delete(id);
    };
  };

export const idsOf = (brokers: number, broker: number) =>
  broker === 0 ? Array.from({ length: brokers }, (_, n) => n + 1) : [Math.min(broker, brokers)];

export const onPaths =
  (change: (fault: FaultValues) => { isBlackHole?: boolean; extraMs?: number }): Begin =>
  ({ site: { cluster, network } }, fault) => {
    const ports = idsOf(cluster.brokers.length, fault.broker).map((id) => cluster.broker(id).port);
    for (const port of ports) network.setPath(port, change(fault));
    return () => {
      for (const port of ports) network.setPath(port, { isBlackHole: false, extraMs: 0 });
    };
  };

/** After so long the controller takes a silent broker for dead. */
export const noticedAfter = ({ value }: FaultValues) => 200 + value * 3_000;

export const errorOf = ({ value, ms }: FaultValues): AnswerFault => {
  const code = ERRORS[Math.floor(value * ERRORS.length)] ?? CODES.UNKNOWN_SERVER_ERROR;
  return { kind: 'error', code, appends: UNCERTAIN.has(code) && ms % 2 === 0 };
};

export const onBucket =
  (kind: ObjectFault): Begin =>
  ({ site: { bucket } }, { chance }) => {
    const fault = { kind, chance };
    bucket.fault = fault;
    return () => {
      if (bucket.fault === fault) bucket.fault = undefined;
    };
  };

/** A fault that is over when it has begun. */
export const once =
  (act: (scene: Scene, fault: FaultValues) => void): Begin =>
  (scene, fault) => {
    act(scene, fault);
    return undefined;
  };
