import { HooklineError } from '../../core/errors.ts';
import { eachError } from '../../runtime/connection-fault.ts';
import { forbidden, type OpenTopic } from './topic-fetcher.ts';

type Read = { readonly groupId: string; readonly topics: readonly string[] };

/**
 * kafkajs tells neither of which topic nor of which group a right is missing, nor which group no broker keeps. Any other error is
 * given back as it is.
 */
export function explainGroupError(error: unknown, { groupId, topics }: Read): unknown {
  if (error instanceof HooklineError) return error;
  if (isGroupNotReady(error)) {
    const remedy =
      'this is usual for seconds after brokers have started; else see that their topic __consumer_offsets has leaders, and that offsets.topic.replication.factor is not above the number of brokers';
    const detail = `none of them is ready to coordinate the consumer group ${groupId}`;
    return new HooklineError('KAFKA_UNAVAILABLE', detail, { remedy, cause: error });
  }
  if (isDenied(error, 'TOPIC_AUTHORIZATION_FAILED')) return forbidden(topics.join(' or '), error);
  if (!isDenied(error, 'GROUP_AUTHORIZATION_FAILED')) return error;
  return new HooklineError('KAFKA_REFUSED', `the consumer group ${groupId}: this user may not use it`, {
    remedy: 'grant Read on this group to the user that Hookline logs in as',
    cause: error,
  });
}

/** What brokers answer that have just started, or have just lost the one that kept the group: by Kafka's names, and kafkajs'. */
const NOT_READY =
  /^(GROUP_LOAD_IN_PROGRESS|GROUP_COORDINATOR_NOT_AVAILABLE|NOT_COORDINATOR_FOR_GROUP|KafkaJSGroupCoordinatorNotFound)$/;

export const isGroupNotReady = (error: unknown): boolean =>
  eachError(error).some((one) => NOT_READY.test((one as { type?: string }).type ?? one.name));

export const isTopicDenied = (error: unknown): boolean => isDenied(error, 'TOPIC_AUTHORIZATION_FAILED');

const isDenied = (error: unknown, type: string) =>
  eachError(error).some((one) => (one as { type?: string }).type === type);

/**
 * Rejects where one of these topics cannot be read: whoever may not read them can join a group that does. Of several it names the
 * first, whichever is answered first: what is told anew is news.
 */
export async function checkReadable(openTopic: OpenTopic, topics: readonly string[]): Promise<void> {
  const read = await Promise.allSettled(topics.map((topic) => readNothing(openTopic, topic)));
  const failed = read.find(({ status }) => status === 'rejected');
  if (failed) throw (failed as PromiseRejectedResult).reason;
}

async function readNothing(openTopic: OpenTopic, topic: string): Promise<void> {
  const fetcher = openTopic(topic);
  try {
    const ends = await fetcher.offsets('end');
    const { leaders } = await fetcher.lookUp();
    // Each broker that leads: they learn of a right one after the other.
    const led = new Map([...leaders.entries()].map(([partition, leader]) => [leader, partition]));
    led.delete(undefined);
    await Promise.all(
      [...led].map(([leader, partition]) =>
        fetcher.fetch(leader as number, new Map([[partition, ends.get(partition) ?? 0n]])),
      ),
    );
  } finally {
    fetcher.close();
  }
}
