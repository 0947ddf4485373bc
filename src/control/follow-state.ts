import type { RecordReader } from '../avro/record-reader.ts';
import { type RecordTakerParts, takeRecords } from '../avro/record-reader.ts';
import type { CommandPlace } from '../core/command.ts';
import { newId } from '../crypto/ids.ts';
import type { KafkaClient } from '../kafka/connect/kafkajs-client.ts';
import { followTopic } from '../kafka/consume/topic-follower.ts';
import { readSubscriptionTable, type SubscriptionTable } from '../subscriptions/state-topic.ts';

type Source = { readonly topic: string; readonly read: RecordReader };

/** What all control processes have written so far: subscriptions, and the commands that have their result. */
export type FollowedState = {
  readonly subscriptions: SubscriptionTable;
  readonly finished: FinishedCommands;
  stop(): Promise<void>;
};

export async function followState(deps: {
  readonly kafka: KafkaClient;
  readonly subscriptions: Source;
  readonly results: Source;
  /** Gets each record of the results topic that reports drift: it belongs to no command. */
  readonly onDrift: (fields: Readonly<Record<string, unknown>>) => void;
  readonly onUnreadable: (error: unknown, at: string) => void;
  readonly onAwaited: (error: unknown, at: string) => void;
  readonly onBrokenOff: (error: Error, topic: string) => void;
}): Promise<FollowedState> {
  const { kafka, onUnreadable, onAwaited, onDrift } = deps;
  const newGroupId = () => `hookline-control-${newId()}`;
  const following = (source: Source) => ({
    ...{ ...source, kafka, onUnreadable, onAwaited, newGroupId },
    onBrokenOff: (error: Error) => deps.onBrokenOff(error, source.topic),
  });
  const [subscriptions, finished] = await Promise.all([
    readSubscriptionTable({ ...following(deps.subscriptions), onChange: () => {} }),
    followFinishedCommands({ ...following(deps.results), onDrift }),
  ]);
  return {
    subscriptions,
    finished,
    async stop() {
      await Promise.all([subscriptions.stop(), finished.stop()]);
    },
  };
}

/** Which commands have their result, as the results topic says. */
export type FinishedCommands = {
  /** Where the command stands that has a result under this id; the first one counts. */
  placeOf(commandId: string): CommandPlace | undefined;
  caughtUp(signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
};

/** Ids that are remembered; the oldest are forgotten first. */
const MAX_REMEMBERED = 200_000;

async function followFinishedCommands(
  deps: Pick<RecordTakerParts, 'read' | 'onUnreadable' | 'onAwaited'> & {
    readonly kafka: KafkaClient;
    readonly topic: string;
    readonly newGroupId: () => string;
    readonly onBrokenOff: (error: Error) => void;
    readonly onDrift: (fields: Readonly<Record<string, unknown>>) => void;
  },
): Promise<FinishedCommands> {
  const { kafka, topic, newGroupId, read, onUnreadable, onAwaited, onBrokenOff } = deps;
  const places = new Map<string, CommandPlace>();
  const stopping = new AbortController();
  const onRecord = takeRecords({
    ...{ read, onUnreadable, onAwaited, signal: stopping.signal },
    onRecord(commandId, result) {
      if (result?.status === 'DRIFT') return deps.onDrift(result);
      if (result === null || places.has(commandId)) return;
      places.set(commandId, placeOf(result));
      const [oldest] = places.keys();
      if (places.size > MAX_REMEMBERED && oldest !== undefined) places.delete(oldest);
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
