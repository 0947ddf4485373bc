import type { CommandSchemas } from '../avro/command-schemas.ts';
import { createOwnReader, type RecordTakerDeps, takeRecords } from '../avro/record-reader.ts';
import type { Registry } from '../avro/registry.ts';
import type { SchemaIds } from '../avro/resolve-ids.ts';
import type { CommandPosition } from '../core/command.ts';
import { OWN_TOPICS, topicName } from '../core/names.ts';
import type { Position } from '../core/record.ts';
import type { OpenTopic } from '../kafka/consume/topic-fetcher.ts';
import { followTopic } from '../kafka/consume/topic-follower.ts';
import type { Clock } from '../runtime/clock.ts';
import { readSubscriptionTable, type SubscriptionTable } from '../subscriptions/state-topic.ts';
import { ReportedDrift } from './reconciler/reported-drift.ts';
import { RememberedCommands } from './remembered-commands.ts';

/** What all control processes have written so far: subscriptions, and the commands that have their result. */
export type FollowedState = {
  readonly subscriptions: SubscriptionTable;
  readonly finished: FinishedCommands;
  readonly reported: ReportedDrift;
  /** This process has written a record to one of the topics: whoever catches up has it. */
  wrote(position: Position): void;
  stop(): Promise<void>;
};

/** Rejects where the brokers do not answer, or do not let it read one of the topics; nothing is left open then. */
export async function followState(deps: {
  readonly openTopic: OpenTopic;
  readonly prefix: string;
  readonly schemas: CommandSchemas;
  readonly ids: SchemaIds;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly onUnreadable: (error: unknown, at: string) => void;
  readonly onAwaited: (error: unknown, at: string) => void;
  readonly onBrokenOff: (error: Error, topic: string) => void;
  /** The topic of subscriptions was deleted and created anew. */
  readonly onRecreated: (topic: string) => void;
}): Promise<FollowedState> {
  const { openTopic, prefix, schemas, ids, onUnreadable, onAwaited, clock } = deps;
  const reported = new ReportedDrift();
  const following = (name: string, schema: CommandSchemas['result']) => {
    const topic = topicName(prefix, name);
    const read = createOwnReader(schema.codec, ids.of(schema), deps.registry, clock);
    const onBrokenOff = (error: Error) => deps.onBrokenOff(error, topic);
    return { openTopic, topic, read, onUnreadable, onAwaited, onBrokenOff, clock };
  };
  const opening = [
    readSubscriptionTable({
      ...following(OWN_TOPICS.subscriptions, schemas.subscription),
      onChange: () => {},
      onRecreated: () => deps.onRecreated(topicName(prefix, OWN_TOPICS.subscriptions)),
    }),
    followFinishedCommands({
      ...following(OWN_TOPICS.results, schemas.result),
      onDrift: (fields) => reported.take(fields),
    }),
  ] as const;
  const [subscriptions, finished] = await Promise.all(opening).catch(async (error) => {
    // It is tried again: what one of them has opened is not left behind.
    await Promise.allSettled(opening.map(async (one) => (await one).stop()));
    throw error;
  });
  return {
    subscriptions,
    finished,
    reported,
    wrote(position) {
      if (position.topic === topicName(prefix, OWN_TOPICS.subscriptions)) subscriptions.wrote(position);
      if (position.topic === topicName(prefix, OWN_TOPICS.results)) finished.wrote(position);
    },
    async stop() {
      await Promise.all([subscriptions.stop(), finished.stop()]);
    },
  };
}

/** Which commands have their result, as the results topic says. */
export type FinishedCommands = {
  /** The position of the command that has its result under this id; where several have one, of the first. */
  positionOf(commandId: string): CommandPosition | undefined;
  caughtUp(signal: AbortSignal): Promise<void>;
  wrote(position: Position): void;
  stop(): Promise<void>;
};

async function followFinishedCommands(
  deps: Pick<RecordTakerDeps, 'read' | 'onUnreadable' | 'onAwaited'> & {
    readonly openTopic: OpenTopic;
    readonly topic: string;
    readonly clock: Clock;
    readonly onBrokenOff: (error: Error) => void;
    /** Gets each record that reports drift: no command caused it. */
    readonly onDrift: (fields: Readonly<Record<string, unknown>>) => void;
  },
): Promise<FinishedCommands> {
  const { openTopic, topic, read, onUnreadable, onAwaited, onBrokenOff, clock } = deps;
  const remembered = new RememberedCommands();
  const stopping = new AbortController();
  const onRecord = takeRecords({
    read,
    onUnreadable,
    onAwaited,
    clock,
    signal: stopping.signal,
    onRecord(commandId, result) {
      if (result?.status === 'DRIFT') return deps.onDrift(result);
      if (result !== null) remembered.add(commandId, positionOf(result), Number(result.finishedAt));
    },
  });
  const follower = await followTopic({ openTopic, topic, onRecord, onBrokenOff, clock });
  return {
    positionOf: remembered.positionOf,
    caughtUp: (signal) => follower.caughtUp(signal),
    wrote: (position) => follower.wrote(position),
    async stop() {
      stopping.abort();
      await follower.stop();
    },
  };
}

function positionOf(result: Readonly<Record<string, unknown>>): CommandPosition {
  return {
    topic: String(result.commandTopic),
    partition: Number(result.commandPartition),
    offset: Number(result.commandOffset),
  };
}

export const isSamePosition = (a: CommandPosition, b: CommandPosition) =>
  a.topic === b.topic && a.partition === b.partition && a.offset === b.offset;
