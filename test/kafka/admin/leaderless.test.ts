import { describe, expect, it } from 'vitest';
import { leaderlessIn } from '../../../src/kafka/admin/leaderless.ts';

const partition = (partitionId: number, leader: number, isr: number[], replicas = [1, 2, 3]) => ({
  partitionId,
  leader,
  isr,
  replicas,
  partitionErrorCode: 0,
});

describe('partitions without a leader', () => {
  it('are none where all have one', () => {
    expect(leaderlessIn([partition(0, 1, [1]), partition(1, 3, [2, 3])])).toBe(null);
  });

  it('are named with the brokers that were in sync last, each once and in order', () => {
    const found = leaderlessIn([partition(2, -1, [3]), partition(0, -1, [3, 1]), partition(1, 2, [2])]);
    expect(found).toEqual({
      finding: 'no leader for partition 0, 2: nothing can be written there or read',
      remedy: 'start what has its records: broker 1, 3',
    });
  });

  it('are said to be on all their brokers where none is told to be in sync', () => {
    expect(leaderlessIn([partition(0, -1, [], [4, 2])])?.remedy).toBe(
      'start what has its records: broker 2, 4',
    );
  });
});
