import type { CommandPlace } from '../core/command.ts';
import type { KafkaClient } from '../kafka/connect/kafkajs-client.ts';
import { followTopic } from '../kafka/consume/topic-follower.ts';
import { type RecordTakerParts, takeRecords } from '../subscriptions/take-records.ts';

/** Which commands have their result, as the results topic says. */
export type FinishedCommands = {
  /** Where the command stands that has a result under this id; the first one counts. */
  placeOf(commandId: string): CommandPlace | undefined;
  caughtUp(signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
};

/** Ids that are remembered; the oldest are forgotten first. */
const MOST_REMEMBERED = 200_000;

export async function followFinishedCommands(
  parts: Pick<RecordTakerParts, 'read' | 'onUnreadable' | 'onAwaited'> & {
    readonly kafka: KafkaClient;
    readonly topic: string;
    readonly newGroupId: () => string;
    readonly onBrokenOff: (error: Error) => void;
    /** Told of each record that tells of drift: it is no command's. */
    readonly onDrift: (fields: Readonly<Record<string, unknown>>) => void;
  },
): Promise<FinishedCommands> {
  const { kafka, topic, newGroupId, read, onUnreadable, onAwaited, onBrokenOff } = parts;
  const places = new Map<string, CommandPlace>();
  const stopping = new AbortController();
  const onRecord = takeRecords({
    ...{ read, onUnreadable, onAwaited, signal: stopping.signal },
    onRecord(commandId, result) {
      if (result?.status === 'DRIFT') return parts.onDrift(result);
      if (result === null || places.has(commandId)) return;
      places.set(commandId, placeOf(result));
      const [oldest] = places.keys();
      if (places.size > MOST_REMEMBERED && oldest !== undefined) places.delete(oldest);
    },
  });
  const follower = await followTopic({ kafka, topic, newGroupId, onRecord, onBrokenOff });
  return {
    placeOf: (commandId) => places.get(commandId),
    caughtUp: (signal) => follower.caughtUp(signal),
    async stop() {
      stopping.abort();
      await follower.stop();
    },
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
