import { HooklineError } from '../../core/errors.ts';
import { eachError } from '../../runtime/connection-fault.ts';
import { forbidden, type OpenTopic } from './topic-fetcher.ts';

type Read = { readonly groupId: string; readonly topics: readonly string[] };

/** kafkajs tells neither of which topic nor of which group a right is missing. Any other error is given back as it is. */
export function explainDenied(error: unknown, { groupId, topics }: Read): unknown {
  if (error instanceof HooklineError) return error;
  if (isDenied(error, 'TOPIC_AUTHORIZATION_FAILED')) return forbidden(topics.join(' or '), error);
  if (!isDenied(error, 'GROUP_AUTHORIZATION_FAILED')) return error;
  return new HooklineError('KAFKA_REFUSED', `the consumer group ${groupId}: this user may not use it`, {
    remedy: 'grant Read on this group to the user that Hookline logs in as',
    cause: error,
  });
}

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
