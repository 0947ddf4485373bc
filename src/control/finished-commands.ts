import type { RecordReader } from '../avro/record-reader.ts';
import type { CommandPlace } from '../core/command.ts';
import type { IncomingRecord } from '../kafka/incoming-record.ts';
import type { KafkaClient } from '../kafka/kafkajs-client.ts';
import { followTopic } from '../kafka/topic-follower.ts';

/** Which commands have their result, as the results topic says. */
export type FinishedCommands = {
  /** Where the command stands that has a result under this id; the first one counts. */
  placeOf(commandId: string): CommandPlace | undefined;
  caughtUp(signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
};

/** Ids that are remembered; the oldest are forgotten first. */
const MOST_REMEMBERED = 200_000;

export async function followFinishedCommands(parts: {
  readonly kafka: KafkaClient;
  readonly topic: string;
  readonly newGroupId: () => string;
  readonly read: RecordReader;
  readonly onUnreadable: (error: unknown, at: string) => void;
}): Promise<FinishedCommands> {
  const places = new Map<string, CommandPlace>();
  const take = async (record: IncomingRecord) => {
    const commandId = record.key?.toString();
    if (!commandId || !record.value || places.has(commandId)) return;
    try {
      const result = await parts.read(record.value);
      places.set(commandId, placeOf(result));
      const [oldest] = places.keys();
      if (places.size > MOST_REMEMBERED && oldest !== undefined) places.delete(oldest);
    } catch (error) {
      parts.onUnreadable(error, `${record.topic}[${record.partition}]@${record.offset}`);
    }
  };
  const { kafka, topic, newGroupId } = parts;
  const follower = await followTopic({ kafka, topic, newGroupId, onRecord: take });
  return {
    placeOf: (commandId) => places.get(commandId),
    caughtUp: (signal) => follower.caughtUp(signal),
    stop: () => follower.stop(),
  };
}

function placeOf(result: Readonly<Record<string, unknown>>): CommandPlace {
  return {
    topic: String(result.commandTopic),
    partition: Number(result.commandPartition),
    offset: Number(result.commandOffset),
  };
}

export const isSamePlace = (a: CommandPlace, b: CommandPlace) =>
  a.topic === b.topic && a.partition === b.partition && a.offset === b.offset;
