import { describe, expect, it } from 'vitest';
import { judgeSafety, type SafetyReading } from '../../../src/kafka/admin/topic-safety.ts';

const SAFE: SafetyReading = { replicas: 3, minInsync: 2, unclean: false, unknown: undefined };
const judge = (reading: Partial<SafetyReading>, least = 2) => judgeSafety({ ...SAFE, ...reading }, least);

describe('a topic', () => {
  it.each<[string, Partial<SafetyReading>, number]>([
    ['three replicas, two of them in sync', {}, 2],
    ['more than is asked for', { replicas: 5, minInsync: 3 }, 2],
    ['one replica where one broker is meant to hold everything', { replicas: 1, minInsync: 1 }, 1],
  ])('is safe with %s', (_, reading, least) => {
    expect(judge(reading, least)).toEqual({ faults: [], remedies: [], warnings: [], isCertain: true });
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
      /^its replication factor is 2, must be at least 3$/,
      /^give its partitions 3 or more replicas by kafka-reassign-partitions$/,
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
      /^set min.insync.replicas to 2 by kafka-configs$/,
    ],
    [
      'fewer in sync than this installation asks for',
      { replicas: 5 },
      3,
      /^min.insync.replicas is 2, must be at least 3$/,
      /apply/,
    ],
    [
      'unclean leader election',
      { unclean: true },
      2,
      /^unclean.leader.election.enable is true, must be false$/,
      /^run hookline topics apply$/,
    ],
  ])('is unsafe with %s; the value and the remedy are named', (_, reading, least, fault, remedy) => {
    const { faults, remedies } = judge(reading, least);
    expect([faults, remedies]).toEqual([[expect.stringMatching(fault)], [expect.stringMatching(remedy)]]);
  });

  it('is safe, with a warning, where all of its replicas must be in sync', () => {
    expect(judge({ replicas: 2 })).toMatchObject({
      faults: [],
      warnings: ['its replication factor equals min.insync.replicas (2): one broker down stops writes'],
    });
    expect(judge({ replicas: 1, minInsync: 1 }, 1).warnings).toEqual([]);
  });

  it('is not judged safe where something is not known, but unsafe where what is known says so', () => {
    const unknown = { minInsync: undefined, unclean: undefined, unknown: 'Not authorized' };
    expect(judge(unknown)).toEqual({
      faults: [],
      remedies: [],
      warnings: ['whether it can lose records is not known: Not authorized'],
      isCertain: false,
    });
    expect(judge({ ...unknown, replicas: 1 }).faults).toHaveLength(1);
  });
});
