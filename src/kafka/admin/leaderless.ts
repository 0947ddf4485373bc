import type kafkajs from 'kafkajs';

/** Which partitions nobody can write to or read, and what to do. */
export type Leaderless = { readonly finding: string; readonly remedy: string };

/** Of a partition without a leader the brokers tell which replica was in sync last: another one lacks records. */
export function leaderlessIn(partitions: readonly kafkajs.PartitionMetadata[]): Leaderless | null {
  const without = partitions.filter(({ leader }) => leader < 0);
  if (without.length === 0) return null;
  const holders = without.flatMap(({ isr, replicas }) => (isr.length > 0 ? isr : replicas));
  return {
    finding: `no leader for partition ${listOf(without.map(({ partitionId }) => partitionId))}: nothing can be written there or read`,
    remedy: `start what has its records: broker ${listOf(holders)}`,
  };
}

const listOf = (ids: readonly number[]): string => [...new Set(ids)].sort((a, b) => a - b).join(', ');
