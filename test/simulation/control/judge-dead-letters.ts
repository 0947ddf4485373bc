import type { Cluster } from '../kafka/cluster.ts';
import { headersIn, readBatch } from '../kafka/record-batch.ts';
import { isUnknown } from './judge-results.ts';
import { nameOf, type SentCommand } from './ledger.ts';
import { DEAD_LETTERS } from './site.ts';

const ERROR = '__connect.errors';

/** What is no command becomes a dead-letter record (docs/dead-letters.md), and nothing else does. */
export function judgeDeadLetters(cluster: Cluster, commands: readonly SentCommand[]): string[] {
  const batches = (cluster.topics.get(DEAD_LETTERS) ?? []).flatMap(({ kept }) => kept);
  const records = batches
    .flatMap(({ batch }) => readBatch(batch))
    .map((record) => ({
      value: record.value,
      headers: headersIn(record),
    }));
  const at = (headers: ReadonlyMap<string, string>) =>
    `${headers.get(`${ERROR}.partition`)}@${headers.get(`${ERROR}.offset`)}`;
  const byPosition = Map.groupBy(records, ({ headers }) => at(headers));
  const faults = commands.flatMap((command) => {
    const { fields, partition, offset } = command;
    const own = byPosition.get(`${partition}@${offset}`) ?? [];
    byPosition.delete(`${partition}@${offset}`);
    const isRight = own.every(({ value, headers }) => {
      const { commandId } = JSON.parse(`${value}`) as { commandId?: string };
      const ids = [commandId, headers.get('hookline.command-id')];
      const code = headers.get(`${ERROR}.exception.class.name`);
      return code === 'COMMAND_INVALID' && ids.every((id) => id === fields.commandId);
    });
    if (!isRight) return [`${nameOf(command)} has a dead-letter record of another`];
    if (own.length > 0 === isUnknown(fields.type)) return [];
    return [`${nameOf(command)} is ${own.length > 0 ? '' : 'not '}a dead-letter record`];
  });
  return [
    ...faults,
    ...[...byPosition.keys()].map((place) => `a dead-letter record is of no command: ${place}`),
  ];
}
