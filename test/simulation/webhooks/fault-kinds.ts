import { type Begin, type Kind, once } from '../fault-kinds/fault.ts';
import { KAFKA_KINDS } from '../fault-kinds/kafka-kinds.ts';
import { BUCKET_LATENCY_MS, type ObjectFault } from '../storage/model-objects.ts';
import { openRows, VOLUME_BYTES } from '../storage/model-volume.ts';
import type { Host } from './host.ts';
import type { Site, System } from './site.ts';

/** Where faults happen. */
export type Scene = { readonly site: Site; readonly host: Host };

const hasSpool = ({ hasSpool: has }: System) => has;
const isSealed = ({ isSealed: is }: System) => is;
const hasObjects = ({ hasObjects: has }: System) => has;

const onBucket =
  (kind: ObjectFault): Begin<Scene> =>
  ({ site: { bucket } }, { chance }) => {
    const fault = { kind, chance };
    bucket.fault = fault;
    return () => {
      if (bucket.fault === fault) bucket.fault = undefined;
    };
  };

export const KINDS = {
  ...KAFKA_KINDS,
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
    begin: once(({ site }) => site.sealingKeys.add()),
  },
  'sealing-keys-lost': {
    most: 8_000,
    isPossible: isSealed,
    begin: ({ site }) => {
      site.sealingKeys.replace();
      return () => {
        const locked = site.volume.lockedRows(site.sealingKeys.current);
        site.sealingKeys.restore();
        site.passed.push(...openRows(locked, site.sealingKeys.current));
      };
    },
  },
  'objects-unavailable': { most: 12_000, isPossible: hasObjects, begin: onBucket('unavailable') },
  'objects-refused': { most: 8_000, isPossible: hasObjects, begin: onBucket('refused') },
  'object-refused': { most: 8_000, isPossible: hasObjects, begin: onBucket('object_refused') },
  'objects-answers-lost': { most: 8_000, isPossible: hasObjects, begin: onBucket('lost') },
  'objects-late': { most: 8_000, isPossible: hasObjects, begin: onBucket('late') },
  'objects-slow': {
    most: 8_000,
    isPossible: hasObjects,
    begin: ({ site: { bucket } }, { value }) => {
      bucket.latencyMs = BUCKET_LATENCY_MS + value * 6_000;
      return () => {
        bucket.latencyMs = BUCKET_LATENCY_MS;
      };
    },
  },
  'objects-hang': { most: 8_000, isPossible: hasObjects, begin: onBucket('hangs') },
  'objects-lie': { most: 8_000, isPossible: hasObjects, begin: onBucket('lies') },
} satisfies Record<string, Kind<Scene, System>>;

export type FaultKind = keyof typeof KINDS;
