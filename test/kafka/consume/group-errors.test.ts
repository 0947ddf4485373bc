import { expect, it } from 'vitest';
import { checkReadable } from '../../../src/kafka/consume/group-errors.ts';
import { forbidden, type TopicFetcher } from '../../../src/kafka/consume/topic-fetcher.ts';

it('of several topics that may not be read the same one is named each time, whichever is answered first', async () => {
  const first = Promise.withResolvers<void>();
  const openTopic = (topic: string) =>
    ({
      async offsets() {
        if (topic === 'first') await first.promise;
        throw forbidden(topic, new Error('denied'));
      },
      close() {
        if (topic === 'second') first.resolve();
      },
    }) as unknown as TopicFetcher;
  await expect(checkReadable(openTopic, ['first', 'second'])).rejects.toThrow(
    '(first: this user may not read it)',
  );
});

it('a topic may be read when every broker that leads a partition of it lets it be read', async () => {
  const lets = new Set([1]);
  const asked: string[] = [];
  const openTopic = (topic: string) =>
    ({
      offsets: async () => new Map([0, 1, 2].map((partition) => [partition, BigInt(partition + 7)])),
      lookUp: async () => ({ topicId: 'id', leaders: [1, 2, undefined] }),
      async fetch(node: number, from: ReadonlyMap<number, bigint>) {
        for (const [partition, offset] of from) asked.push(`${node}: ${partition} from ${offset}`);
        if (!lets.has(node)) throw forbidden(topic, new Error('denied'));
        return [];
      },
      close() {},
    }) as unknown as TopicFetcher;
  await expect(checkReadable(openTopic, ['t'])).rejects.toThrow('t: this user may not read it');
  lets.add(2);
  asked.splice(0);
  await checkReadable(openTopic, ['t']);
  expect(asked).toEqual(['1: 0 from 7', '2: 1 from 8']);
});
