import { CODES } from '../kafka/partition.ts';
import { VOLUME_BYTES } from '../storage/model-volume.ts';
import type { Kind } from './fault-effects.ts';
import { answering, errorOf, idsOf, noticedAfter, onBucket, once, onPaths } from './fault-effects.ts';
import type { System } from './site.ts';

const hasSpool = ({ hasSpool: has }: System) => has;
const isSealed = ({ isSealed: is }: System) => is;
const hasObjects = ({ hasObjects: has }: System) => has;

export const KINDS = {
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
    begin: once(({ site: { cluster } }, fault) => {
      for (const id of idsOf(cluster.brokers.length, fault.broker))
        cluster.broker(id).freeze(fault.ms, noticedAfter(fault));
    }),
  },
  'leaders-moved': {
    most: 0,
    begin: once(({ site: { cluster } }) => cluster.moveLeaders()),
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
    begin: once(({ site: { cluster } }, { value }) => {
      for (const topic of cluster.topics.keys()) cluster.addPartitions(topic, 1 + Math.floor(value * 2));
    }),
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
    begin: once(({ site: { cluster, network } }, { broker }) => {
      for (const id of idsOf(cluster.brokers.length, broker)) network.cut(cluster.broker(id).port);
    }),
  },
  'black-hole': { most: 9_000, begin: onPaths(() => ({ isBlackHole: true })) },
  'slow-network': { most: 9_000, begin: onPaths(({ value }) => ({ extraMs: 10 + value * 1_500 })) },
  crash: {
    most: 0,
    begin: once(({ host }) => host.crash()),
  },
  'crash-at-an-effect': {
    most: 0,
    begin: once(({ host }, { value }) => host.crashAfter(1 + Math.floor(value ** 2 * 60))),
  },
  restart: {
    most: 0,
    begin: once(({ host }) => host.restart()),
  },
  frozen: {
    most: 9_000,
    begin: once(({ host }, { ms }) => host.freeze(ms)),
  },
  'clock-jump': {
    most: 0,
    begin: once(({ host }, { value }) => host.jumpClock((value - 0.5) * 2 * 3_600_000)),
  },
  'disk-full': {
    most: 8_000,
    isPossible: hasSpool,
    begin: ({ site: { volume } }, { value }) => {
      volume.freeBytes = volume.usedBytes + Math.floor(value * 4_000);
      return () => {
        volume.freeBytes = VOLUME_BYTES;
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
    begin: once(({ site, host }) => {
      site.sealingKeys.add();
      host.renewSealingKeys();
    }),
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
