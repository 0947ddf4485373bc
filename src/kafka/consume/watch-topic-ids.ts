import type { Clock, Timer } from '../../runtime/clock.ts';
import type { OpenTopic, TopicFetcher } from './topic-fetcher.ts';

export type TopicIdWatch = { stop(): void };

const INTERVAL_MS = 5_000;

/**
 * Watches whether topics are still those of the start. One that is deleted and created anew has the same name and
 * another id: kafkajs does not ask for ids, and reads on at the offset that it had in the earlier one.
 * @param onOther gets the name of a topic that is another one now
 */
export function watchTopicIds(deps: {
  readonly openTopic: OpenTopic;
  readonly topics: readonly string[];
  readonly onOther: (topic: string) => void;
  readonly clock: Clock;
}): TopicIdWatch {
  const watched = deps.topics.map((topic) => ({ topic, fetcher: deps.openTopic(topic) }));
  const ids = new Map<string, string>();
  const look = async ({ topic, fetcher }: { topic: string; fetcher: TopicFetcher }) => {
    const { topicId } = await fetcher.lookUp();
    const before = ids.get(topic);
    ids.set(topic, topicId);
    if (before !== undefined && before !== topicId) deps.onOther(topic);
  };
  let isLooking = false;
  const lookAtAll = async () => {
    if (isLooking) return;
    isLooking = true;
    // While it does not exist, or no broker answers, nothing is read of it either.
    await Promise.allSettled(watched.map(look));
    isLooking = false;
  };
  const timer: Timer = deps.clock.every(INTERVAL_MS, () => void lookAtAll());
  void lookAtAll();
  return {
    stop() {
      timer.cancel();
      for (const { fetcher } of watched) fetcher.close();
    },
  };
}
