import type kafkajs from 'kafkajs';
import { expect, it, vi } from 'vitest';
import { watchLag } from '../../../src/kafka/admin/consumer-lag.ts';
import type { KafkaClient } from '../../../src/kafka/connect/kafkajs-client.ts';

it('a stop does not wait for brokers that accept connections and answer nothing', async () => {
  const connect = vi.fn(() => new Promise<void>(() => {}));
  const disconnect = async () => {};
  const silent = { admin: () => ({ connect, disconnect }) as unknown as kafkajs.Admin } as KafkaClient;
  const watch = watchLag({
    kafka: silent,
    groupId: 'g',
    topics: ['t'],
    onLag: () => expect.unreachable(),
    onFailure: () => expect.unreachable(),
  });
  await watch.stop();
  expect(connect).toHaveBeenCalledOnce();
});

it('a missing topic is asked for nothing: the lag of the others does not wait for it', async () => {
  const asked: string[] = [];
  const told = Promise.withResolvers<string>();
  const failures: string[] = [];
  const admin = {
    connect: async () => {},
    disconnect: async () => {},
    listTopics: async () => ['there'],
    async fetchTopicOffsets(topic: string) {
      asked.push(topic);
      return [{ partition: 0, offset: '5', high: '5', low: '0' }];
    },
    fetchOffsets: async ({ topics: [topic = ''] = [] }: { topics?: string[] }) => [{ topic, partitions: [] }],
  } as unknown as kafkajs.Admin;
  const watch = watchLag({
    kafka: { admin: () => admin } as unknown as KafkaClient,
    groupId: 'g',
    topics: ['gone', 'there'],
    onLag: (topic, partition, records) => told.resolve(`${topic}[${partition}] ${records}`),
    onFailure: (error) => failures.push((error as Error).message),
  });
  expect(await told.promise).toBe('there[0] 5');
  await watch.stop();
  expect(asked).toEqual(['there']);
  expect(failures).toEqual([expect.stringContaining('(gone)')]);
});
