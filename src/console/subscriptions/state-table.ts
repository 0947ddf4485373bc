import { ownRecordReader } from '../../cli/shell/read-own-topics.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import { readSubscriptionTable, type SubscriptionTable } from '../../subscriptions/state-topic.ts';
import type { ConsoleDeps } from '../page/console-deps.ts';
import { lazily } from '../page/lazily.ts';

/** The state of all subscriptions, kept up to date. */
export const stateTable = (deps: ConsoleDeps): (() => Promise<SubscriptionTable>) =>
  lazily(deps, 'subscriptions', () => openTable(deps));

/** The brokers have answered already: more than a moment is a topic that nobody may read. */
const CAUGHT_UP_MS = 10_000;

async function openTable({ config, kafka, logger, clock }: ConsoleDeps): Promise<SubscriptionTable> {
  const topic = topicName(config.topics.prefix, OWN_TOPICS.subscriptions);
  const table = await readSubscriptionTable({
    openTopic: kafka.openTopic,
    clock,
    topic,
    read: await ownRecordReader(config, 'subscription'),
    onBrokenOff: (err) => logger.warn({ err, topic }, 'the topic cannot be read, trying again'),
    onUnreadable: (err, at) => logger.warn({ err, at }, 'record cannot be read and is skipped'),
    onAwaited: (err, at) => logger.warn({ err, at }, 'record waits for the schema registry'),
    onChange() {},
  });
  try {
    await table.caughtUp(AbortSignal.timeout(CAUGHT_UP_MS));
    return table;
  } catch (error) {
    await table.stop();
    throw new Error(`${topic} cannot be read within ${CAUGHT_UP_MS / 1_000} s`, { cause: error });
  }
}
