import type { RecordReader } from '../avro/record-reader.ts';
import { newId } from '../crypto/ids.ts';
import type { KafkaClient } from '../kafka/connect/kafkajs-client.ts';
import { readSubscriptionTable, type SubscriptionTable } from '../subscriptions/state-topic.ts';
import { type FinishedCommands, followFinishedCommands } from './finished-commands.ts';
import { ToldDrift } from './reconciler/reported-drift.ts';

type Source = { readonly topic: string; readonly read: RecordReader };

/** What all control processes have written so far: subscriptions, and the commands that have their result. */
export type FollowedState = {
  readonly subscriptions: SubscriptionTable;
  readonly finished: FinishedCommands;
  readonly told: ToldDrift;
  stop(): Promise<void>;
};

export async function followState(parts: {
  readonly kafka: KafkaClient;
  readonly subscriptions: Source;
  readonly results: Source;
  readonly onUnreadable: (error: unknown, at: string) => void;
  readonly onAwaited: (error: unknown, at: string) => void;
  readonly onBrokenOff: (error: Error, topic: string) => void;
}): Promise<FollowedState> {
  const { kafka, onUnreadable, onAwaited } = parts;
  const told = new ToldDrift();
  const onDrift = (fields: Readonly<Record<string, unknown>>) => told.take(fields);
  const newGroupId = () => `hookline-control-${newId()}`;
  const brokenOff = ({ topic }: Source) => ({
    onBrokenOff: (error: Error) => parts.onBrokenOff(error, topic),
  });
  const [subscriptions, finished] = await Promise.all([
    readSubscriptionTable({
      ...{ kafka, onUnreadable, onAwaited, newGroupId, onChange: () => {} },
      ...{ ...parts.subscriptions, ...brokenOff(parts.subscriptions) },
    }),
    followFinishedCommands({
      ...{ kafka, onUnreadable, onAwaited, newGroupId, onDrift },
      ...parts.results,
      ...brokenOff(parts.results),
    }),
  ]);
  return {
    subscriptions,
    finished,
    told,
    async stop() {
      await Promise.all([subscriptions.stop(), finished.stop()]);
    },
  };
}
