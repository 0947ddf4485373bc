import type { CommandResult } from '../../../src/core/command.ts';
import type { SubscriptionRecord } from '../../../src/subscriptions/subscription-record.ts';
import type { Cluster } from '../kafka/cluster.ts';
import { headerOf, readBatch } from '../kafka/record-batch.ts';
import type { Fields } from './commands.ts';
import { SCHEMAS } from './parts.ts';
import { COMMANDS, RESULTS, SUBSCRIPTIONS } from './site.ts';

/** A command as it stands in its topic. */
export type SentCommand = { readonly partition: number; readonly offset: number; readonly fields: Fields };

/** A result as it stands in its topic. */
export type StoredResult = {
  readonly result: CommandResult;
  readonly key: string;
  /** Of two copies of one write. */
  readonly value: Buffer;
  /** Which of two was appended first. */
  readonly order: number;
  /** When consumers could read it, in simulated time. */
  readonly readableAt: number;
};

/** A command with its result: of several the first one. */
export type EndedCommand = SentCommand & { readonly result: CommandResult };

export const nameOf = ({ fields, partition, offset }: SentCommand): string =>
  `${fields.type} ${fields.ref ?? ''} (${fields.commandId}, ${partition}@${offset})`;

/** The part of the wire format before the record. */
const HEAD_BYTES = 5;

const records = (cluster: Cluster, topic: string) =>
  (cluster.topics.get(topic) ?? []).flatMap((partition) =>
    partition.kept.flatMap((entry) =>
      readBatch(entry.batch).map((record, n) => {
        return { ...record, entry, partition: partition.index, offset: entry.base + n };
      }),
    ),
  );

export const commandsIn = (cluster: Cluster): SentCommand[] =>
  records(cluster, COMMANDS).map(({ partition, offset, value }) => {
    return { partition, offset, fields: JSON.parse(`${value}`) as Fields };
  });

export function resultsIn(cluster: Cluster): StoredResult[] {
  const stored = records(cluster, RESULTS).flatMap(({ entry, key, value }) => {
    if (value === null) return [];
    const result = SCHEMAS.result.codec.decode(value.subarray(HEAD_BYTES)) as unknown as CommandResult;
    const readableAt = cluster.readableAt.get(entry) ?? Number.POSITIVE_INFINITY;
    return [{ result, key: `${key}`, value, order: entry.order, readableAt }];
  });
  return stored.sort((a, b) => a.order - b.order);
}

/** Results by the position of their command. */
export const byPosition = (results: readonly StoredResult[]): Map<string, StoredResult[]> =>
  Map.groupBy(
    results.filter(({ result }) => result.status !== 'DRIFT'),
    ({ result }) => `${result.commandPartition}@${result.commandOffset}`,
  );

export function endedIn(commands: readonly SentCommand[], results: readonly StoredResult[]): EndedCommand[] {
  const found = byPosition(results);
  return commands.flatMap((command) => {
    const [first] = found.get(`${command.partition}@${command.offset}`) ?? [];
    return first ? [{ ...command, result: first.result }] : [];
  });
}

const EPOCH = 'hookline.epoch';

/** The state by the rule of its topic, read without the code that keeps it: what comes after a higher epoch does not count. */
export function stateIn(cluster: Cluster): Map<string, SubscriptionRecord> {
  const state = new Map<string, SubscriptionRecord>();
  const highest = new Map<number, number>();
  for (const record of records(cluster, SUBSCRIPTIONS)) {
    const { partition, key, value } = record;
    const ref = `${key}`;
    const epoch = Number(headerOf(record, EPOCH) ?? 0);
    const before = highest.get(partition) ?? 0;
    highest.set(partition, Math.max(before, epoch));
    if (epoch < before || ref.startsWith('#')) continue;
    if (value === null) state.delete(ref);
    else {
      const fields = SCHEMAS.subscription.codec.decode(value.subarray(HEAD_BYTES));
      state.set(ref, { ...fields, ref } as unknown as SubscriptionRecord);
    }
  }
  return state;
}

/** Drift that was reported and has not ended, by the ids of subscriptions. One of another kind may have ended meanwhile. */
export function reportedDrift(results: readonly StoredResult[]): Set<string> {
  const last = new Map<string, CommandResult>();
  for (const { result } of results)
    if (result.status === 'DRIFT') last.set(result.ref ?? `id ${result.subscriptionId}`, result);
  const open = [...last.values()].filter(({ errorCode }) => errorCode !== null);
  return new Set(open.map(({ subscriptionId }) => `${subscriptionId}`));
}
