import type { Random } from '../../faults/random.ts';
import type { AnswerFault } from '../kafka/broker.ts';
import { CODES } from '../kafka/partition.ts';
import type { ObjectFault } from '../storage/model-objects.ts';
import type { Host } from './host.ts';
import type { Site, System } from './site.ts';

/** One fault of a schedule. Plain values: a schedule is shrunk by leaving some out. */
export type Fault = {
  readonly kind: FaultKind;
  readonly at: number;
  /** How long it lasts. */
  readonly ms: number;
  /** Which broker; 0 for all. */
  readonly broker: number;
  readonly chance: number;
  /** What it means depends on the kind. */
  readonly value: number;
};

type Scene = { readonly site: Site; readonly host: Host };
/** Begins the fault. @returns what ends it */
type Begin = (scene: Scene, fault: Fault) => (() => void) | undefined;

type Kind = {
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

const answering =
  (faultOf: (fault: Fault) => AnswerFault): Begin =>
  ({ site: { cluster } }, fault) => {
    const met = { fault: faultOf(fault), chance: fault.chance };
    const ids = idsOf(cluster.brokers.length, fault.broker);
    for (const id of ids) cluster.answerFaults.set(id, met);
    return () => {
      for (const id of ids) if (cluster.answerFaults.get(id) === met) cluster.answerFaults.delete(id);
    };
  };

const idsOf = (brokers: number, broker: number) =>
  broker === 0 ? Array.from({ length: brokers }, (_, n) => n + 1) : [Math.min(broker, brokers)];

const onPaths =
  (change: (fault: Fault) => { isBlackHole?: boolean; extraMs?: number }): Begin =>
  ({ site: { cluster, network } }, fault) => {
    const ports = idsOf(cluster.brokers.length, fault.broker).map((id) => cluster.broker(id).port);
    for (const port of ports) network.setPath(port, change(fault));
    return () => {
      for (const port of ports) network.setPath(port, { isBlackHole: false, extraMs: 0 });
    };
  };

/** After so long the controller takes a silent broker for dead. */
const noticedAfter = ({ value }: Fault) => 200 + value * 3_000;

const errorOf = ({ value, ms }: Fault): AnswerFault => {
  const code = ERRORS[Math.floor(value * ERRORS.length)] ?? CODES.UNKNOWN_SERVER_ERROR;
  return { kind: 'error', code, appends: UNCERTAIN.has(code) && ms % 2 === 0 };
};

const onBucket =
  (kind: ObjectFault): Begin =>
  ({ site: { bucket } }, { chance }) => {
    const fault = { kind, chance };
    bucket.fault = fault;
    return () => {
      if (bucket.fault === fault) bucket.fault = undefined;
    };
  };

const hasSpool = ({ hasSpool: has }: System) => has;
const isSealed = ({ isSealed: is }: System) => is;
const hasObjects = ({ hasObjects: has }: System) => has;

const KINDS = {
  'answers-dropped': { most: 8_000, begin: answering(() => ({ kind: 'drop' })) },
  'answers-swallowed': { most: 8_000, begin: answering(() => ({ kind: 'swallow' })) },
  'answers-late': {
    most: 8_000,
    begin: answering(({ value }) => ({ kind: 'delay', ms: 50 + value * 9_000 })),
  },
  'answers-twice': { most: 8_000, begin: answering(() => ({ kind: 'duplicate' })) },
  'answers-errors': { most: 8_000, begin: answering(errorOf) },
  'topics-refused': {
    most: 6_000,
    begin: answering(() => ({ kind: 'error', code: CODES.TOPIC_AUTHORIZATION_FAILED, appends: false })),
  },
  'broker-killed': {
    most: 12_000,
    begin: ({ site: { cluster } }, fault) => {
      const killed = idsOf(cluster.brokers.length, fault.broker).map((id) => cluster.broker(id));
      for (const broker of killed) broker.kill(noticedAfter(fault));
      return () => {
        for (const broker of killed) broker.start();
      };
    },
  },
  'broker-frozen': {
    most: 10_000,
    begin: ({ site: { cluster } }, fault) => {
      for (const id of idsOf(cluster.brokers.length, fault.broker))
        cluster.broker(id).freeze(fault.ms, noticedAfter(fault));
      return undefined;
    },
  },
  'leaders-moved': {
    most: 0,
    begin: ({ site: { cluster } }) => {
      cluster.moveLeaders();
      return undefined;
    },
  },
  'replica-behind': {
    most: 8_000,
    begin: ({ site: { cluster } }, fault) => {
      const [id = 1] = idsOf(cluster.brokers.length, Math.max(1, fault.broker));
      const broker = cluster.broker(id);
      broker.replicates = false;
      const timer = cluster.simulation.after(1_000 + fault.value * 2_000, broker.machine, () =>
        cluster.shrink(id),
      );
      return () => {
        timer.cancel();
        broker.replicates = true;
        for (const partition of cluster.partitions) cluster.replicate(partition);
      };
    },
  },
  'metadata-stale': {
    most: 10_000,
    begin: ({ site: { cluster } }, { value }) => {
      cluster.metadataLagMs = 200 + value * 5_000;
      return () => {
        cluster.metadataLagMs = 30;
      };
    },
  },
  'partitions-added': {
    most: 0,
    begin: ({ site: { cluster } }, { value }) => {
      for (const topic of cluster.topics.keys()) cluster.addPartitions(topic, 1 + Math.floor(value * 2));
      return undefined;
    },
  },
  'limit-lowered': {
    most: 5_000,
    begin: ({ site: { cluster } }, { value }) => {
      const topics = [...cluster.topics.keys()].filter((topic) => !topic.endsWith('dead-letter'));
      for (const topic of topics) cluster.lowered.set(topic, 1_500 + Math.floor(value * 6_000));
      return () => cluster.lowered.clear();
    },
  },
  'connections-cut': {
    most: 0,
    begin: ({ site: { cluster, network } }, { broker }) => {
      for (const id of idsOf(cluster.brokers.length, broker)) network.cut(cluster.broker(id).port);
      return undefined;
    },
  },
  'black-hole': { most: 9_000, begin: onPaths(() => ({ isBlackHole: true })) },
  'slow-network': { most: 9_000, begin: onPaths(({ value }) => ({ extraMs: 10 + value * 1_500 })) },
  crash: {
    most: 0,
    begin: ({ host }) => {
      host.crash();
      return undefined;
    },
  },
  'crash-at-an-effect': {
    most: 0,
    begin: ({ host }, { value }) => {
      host.crashAfter(1 + Math.floor(value * 12));
      return undefined;
    },
  },
  restart: {
    most: 0,
    begin: ({ host }) => {
      host.restart();
      return undefined;
    },
  },
  frozen: {
    most: 9_000,
    begin: ({ host }, { ms }) => {
      host.freeze(ms);
      return undefined;
    },
  },
  'clock-jump': {
    most: 0,
    begin: ({ host }, { value }) => {
      host.jumpClock((value - 0.5) * 2 * 3_600_000);
      return undefined;
    },
  },
  'disk-full': {
    most: 8_000,
    isPossible: hasSpool,
    begin: ({ site: { volume } }, { value }) => {
      const before = volume.freeBytes;
      volume.freeBytes = volume.usedBytes + Math.floor(value * 4_000);
      return () => {
        volume.freeBytes = before;
      };
    },
  },
  'disk-failing': {
    most: 5_000,
    isPossible: hasSpool,
    begin: ({ site: { volume } }) => {
      volume.isFailing = true;
      return () => {
        volume.isFailing = false;
      };
    },
  },
  'disk-slow': {
    most: 5_000,
    isPossible: hasSpool,
    begin: ({ site: { volume } }, { value }) => {
      volume.syncMs = 20 + value * 800;
      return () => {
        volume.syncMs = 4;
      };
    },
  },
  'sealing-key-added': {
    most: 0,
    isPossible: isSealed,
    begin: ({ site, host }) => {
      site.sealingKeys.add();
      host.renewSealingKeys();
      return undefined;
    },
  },
  'sealing-keys-lost': {
    most: 8_000,
    isPossible: isSealed,
    begin: ({ site, host }) => {
      site.sealingKeys.dropOld();
      host.renewSealingKeys();
      return () => {
        site.sealingKeys.restore();
        host.renewSealingKeys();
      };
    },
  },
  'objects-unavailable': { most: 12_000, isPossible: hasObjects, begin: onBucket('unavailable') },
  'objects-refused': { most: 8_000, isPossible: hasObjects, begin: onBucket('refused') },
  'object-refused': { most: 8_000, isPossible: hasObjects, begin: onBucket('object_refused') },
  'objects-answers-lost': { most: 8_000, isPossible: hasObjects, begin: onBucket('lost') },
  'objects-late': { most: 8_000, isPossible: hasObjects, begin: onBucket('late') },
  'objects-hang': { most: 8_000, isPossible: hasObjects, begin: onBucket('hangs') },
  'objects-lie': { most: 8_000, isPossible: hasObjects, begin: onBucket('lies') },
} satisfies Record<string, Kind>;

export type FaultKind = keyof typeof KINDS;

/** The kinds that a system can meet. */
export const kindsFor = (system: System): FaultKind[] =>
  (Object.entries(KINDS) as [FaultKind, Kind][])
    .filter(([, { isPossible }]) => isPossible?.(system) ?? true)
    .map(([kind]) => kind);

export function planFault(kind: FaultKind, random: Random, latest: number): Fault {
  const { most } = KINDS[kind];
  return {
    ...{ kind, at: random.between(0, latest), ms: Math.floor(random.next() ** 2 * most) },
    broker: random.chance(0.3) ? 0 : random.between(1, 3),
    chance: random.pick([0.05, 0.3, 1]),
    value: random.next(),
  };
}

export const beginFault = (scene: Scene, fault: Fault): (() => void) | undefined =>
  (KINDS[fault.kind] as Kind).begin(scene, fault);
