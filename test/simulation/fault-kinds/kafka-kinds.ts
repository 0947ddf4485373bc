import type { Cluster } from '../kafka/cluster.ts';
import { OFFSETS_TOPIC } from '../kafka/coordinator.ts';
import { CODES } from '../kafka/partition.ts';
import type { AnswerFault } from '../kafka/serve-produce.ts';
import type { Network } from '../net/network.ts';
import { type Begin, type FaultValues, once } from './fault.ts';

/** What faults of Kafka need of a scene. */
export type KafkaScene = { readonly site: { readonly cluster: Cluster; readonly network: Network } };
type KafkaBegin = Begin<KafkaScene>;

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
  (faultOf: (fault: FaultValues) => AnswerFault): KafkaBegin =>
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
  (change: (fault: FaultValues) => { isBlackHole?: boolean; extraMs?: number }): KafkaBegin =>
  ({ site: { cluster, network } }, fault) => {
    const ports = idsOf(cluster.brokers.length, fault.broker).map((id) => cluster.broker(id).port);
    for (const port of ports) network.setPath(port, change(fault));
    return () => {
      for (const port of ports) network.setPath(port, { isBlackHole: false, extraMs: 0 });
    };
  };

/** After so long the controller takes a silent broker for dead. */
const noticedAfter = ({ value }: FaultValues) => 200 + value * 3_000;

const errorOf = ({ value, ms }: FaultValues): AnswerFault => {
  const code = ERRORS[Math.floor(value * ERRORS.length)] ?? CODES.UNKNOWN_SERVER_ERROR;
  return { kind: 'error', code, appends: UNCERTAIN.has(code) && ms % 2 === 0 };
};

const ownTopics = (cluster: Cluster) => [...cluster.topics.keys()].filter((topic) => topic !== OFFSETS_TOPIC);

/** Kinds of faults of brokers and of the way to them. */
export const KAFKA_KINDS = {
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
    begin: ({ site: { cluster } }: KafkaScene, fault: FaultValues) => {
      const killed = idsOf(cluster.brokers.length, fault.broker).map((id) => cluster.broker(id));
      for (const broker of killed) broker.kill(noticedAfter(fault));
      return () => {
        for (const broker of killed) broker.start();
      };
    },
  },
  'broker-frozen': {
    most: 10_000,
    begin: once<KafkaScene>(({ site: { cluster } }, fault) => {
      for (const id of idsOf(cluster.brokers.length, fault.broker))
        cluster.broker(id).freeze(fault.ms, noticedAfter(fault));
    }),
  },
  'leaders-moved': {
    most: 0,
    begin: once<KafkaScene>(({ site: { cluster } }) => cluster.moveLeaders()),
  },
  'replica-behind': {
    most: 8_000,
    begin: ({ site: { cluster } }: KafkaScene, fault: FaultValues) => {
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
    begin: ({ site: { cluster } }: KafkaScene, { value }: FaultValues) => {
      cluster.metadataLagMs = 200 + value * 5_000;
      return () => {
        cluster.metadataLagMs = 30;
      };
    },
  },
  'partitions-added': {
    most: 0,
    begin: once<KafkaScene>(({ site: { cluster } }, { value }) => {
      for (const topic of ownTopics(cluster)) cluster.addPartitions(topic, 1 + Math.floor(value * 2));
    }),
  },
  'limit-lowered': {
    most: 5_000,
    begin: ({ site: { cluster } }: KafkaScene, { value }: FaultValues) => {
      const topics = ownTopics(cluster).filter((topic) => !topic.endsWith('dead-letter'));
      for (const topic of topics) cluster.lowered.set(topic, 1_500 + Math.floor(value * 6_000));
      return () => cluster.lowered.clear();
    },
  },
  'connections-cut': {
    most: 0,
    begin: once<KafkaScene>(({ site: { cluster, network } }, { broker }) => {
      for (const id of idsOf(cluster.brokers.length, broker)) network.cut(cluster.broker(id).port);
    }),
  },
  'black-hole': { most: 9_000, begin: onPaths(() => ({ isBlackHole: true })) },
  'slow-network': { most: 9_000, begin: onPaths(({ value }) => ({ extraMs: 10 + value * 1_500 })) },
};
