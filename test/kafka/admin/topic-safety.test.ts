import type kafkajs from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { assessSafety, readSafety, type SafetyReading } from '../../../src/kafka/admin/topic-safety.ts';

const SAFE: SafetyReading = {
  replicas: 3,
  minInsync: 2,
  unclean: false,
  compacts: false,
  expires: true,
  unknown: undefined,
};
const assess = (reading: Partial<SafetyReading>, required = 2) =>
  assessSafety({ ...SAFE, ...reading }, required);

describe('a topic', () => {
  it.each<[string, Partial<SafetyReading>, number]>([
    ['three replicas, two of them in sync', {}, 2],
    ['more than is asked for', { replicas: 5, minInsync: 3 }, 2],
    ['one replica if one broker is to hold everything', { replicas: 1, minInsync: 1 }, 1],
  ])('is safe with %s', (_, reading, least) => {
    expect(assess(reading, least)).toEqual({ faults: [], remedies: [], warnings: [], isCertain: true });
  });

  it('is safe with compaction where only the latest record of a key counts', () => {
    expect(assessSafety({ ...SAFE, compacts: true, expires: false }, 2, { isState: true }).faults).toEqual(
      [],
    );
  });

  it('is unsafe there where records are deleted by their age too', () => {
    const { faults, remedies } = assessSafety({ ...SAFE, compacts: true }, 2, { isState: true });
    expect(faults).toEqual([
      'cleanup.policy has delete too, must be compact: keys of subscriptions are gone when the retention is over',
    ]);
    expect(remedies).toEqual([
      expect.stringMatching(/^run hookline topics apply, .* before a restart .* runbook\)$/),
    ]);
  });

  it('is unsafe there without it: what is the latest record of its key would be deleted too', () => {
    const { faults, remedies } = assessSafety(SAFE, 2, { isState: true });
    expect(faults).toEqual([
      expect.stringMatching(/^cleanup.policy is delete, must be compact: keys of subscr/),
    ]);
    expect(remedies).toEqual([expect.stringContaining('--allow-data-loss --topic TOPIC')]);
    // Where the brokers do not say, nothing is known against it.
    expect(
      assessSafety({ ...SAFE, compacts: undefined, expires: undefined }, 2, { isState: true }).faults,
    ).toEqual([]);
  });

  it.each<[string, Partial<SafetyReading>, number, RegExp, RegExp]>([
    [
      'one replica',
      { replicas: 1, minInsync: 1 },
      2,
      /^its replication factor is 1, must be at least 2$/,
      /reassign.*MIN_INSYNC_REPLICAS to 1/,
    ],
    [
      'fewer replicas than must be in sync: brokers then confirm with fewer',
      { replicas: 2, minInsync: 3 },
      2,
      /^its replication factor is 2, must be at least 3 \(its min.insync.replicas\)$/,
      /^give its partitions 3 or more replicas with kafka-reassign-partitions, or set min.insync.replicas to 2 with kafka-configs$/,
    ],
    [
      'one replica, and that is allowed, but fewer than must be in sync',
      { replicas: 1, minInsync: 2 },
      1,
      /^its replication factor is 1, must be at least 2 \(its min.insync.replicas\)$/,
      /^give its partitions 2 or more replicas with kafka-reassign-partitions, or set min.insync.replicas to 1 with kafka-configs$/,
    ],
    [
      'fewer replicas than this installation asks for, which is less than must be in sync',
      { replicas: 2, minInsync: 4 },
      3,
      /^its replication factor is 2, must be at least 4$/,
      /^give its partitions 4 or more replicas with kafka-reassign-partitions$/,
    ],
    [
      'one in sync of three',
      { minInsync: 1 },
      2,
      /^min.insync.replicas is 1, must be at least 2$/,
      /^run hookline topics apply$/,
    ],
    [
      'one in sync of two',
      { replicas: 2, minInsync: 1 },
      2,
      /^min.insync.replicas is 1/,
      /^set min.insync.replicas to 2 with kafka-configs$/,
    ],
    [
      'fewer in sync than this installation asks for',
      { replicas: 5 },
      3,
      /^min.insync.replicas is 2, must be at least 3$/,
      /apply/,
    ],
    [
      'compaction: of an entity only the latest event would stay',
      { compacts: true },
      2,
      /^cleanup.policy has compact, must be delete/,
      /^run hookline topics apply --allow-data-loss/,
    ],
    [
      'unclean leader election',
      { unclean: true },
      2,
      /^unclean.leader.election.enable is true, must be false$/,
      /^run hookline topics apply$/,
    ],
  ])('is unsafe with %s; the value and the remedy are named', (_, reading, least, fault, remedy) => {
    const { faults, remedies } = assess(reading, least);
    expect([faults, remedies]).toEqual([[expect.stringMatching(fault)], [expect.stringMatching(remedy)]]);
  });

  it('is safe, with a warning, if all of its replicas must be in sync', () => {
    expect(assess({ replicas: 2 })).toMatchObject({
      faults: [],
      warnings: ['its replication factor equals min.insync.replicas (2): one broker down stops writes'],
    });
    expect(assess({ replicas: 1, minInsync: 1 }, 1).warnings).toEqual([]);
  });

  it('does not count as safe if a value is unknown, but as unsafe if a known value says so', () => {
    const unknown = { minInsync: undefined, unclean: undefined, unknown: 'Not authorized' };
    expect(assess(unknown)).toEqual({
      faults: [],
      remedies: [],
      warnings: ['whether it can lose records is not known: Not authorized'],
      isCertain: false,
    });
    expect(assess({ ...unknown, replicas: 1 }).faults).toHaveLength(1);
  });
});

it.each([
  ['compact', '604800000', '1000', false],
  ['compact,delete', '-1', '-1', false],
  ['compact,delete', '604800000', '-1', true],
  ['compact,delete', '-1', '1000', true],
  ['delete', '604800000', '-1', true],
])(
  'records of a topic with %s, retention.ms %s and retention.bytes %s expire: %s',
  async (policy, ms, bytes, expires) => {
    const config = { 'cleanup.policy': policy, 'retention.ms': ms, 'retention.bytes': bytes };
    const configEntries = Object.entries(config).map(([configName, configValue]) => ({
      configName,
      configValue,
    }));
    const admin = {
      describeConfigs: async () => ({ resources: [{ resourceName: 't', configEntries }] }),
      fetchTopicMetadata: async () => ({ topics: [{ name: 't', partitions: [{ replicas: [1] }] }] }),
    };
    const readings = await readSafety(admin as unknown as kafkajs.Admin, ['t']);
    expect(readings.get('t')).toMatchObject({ expires });
  },
);
