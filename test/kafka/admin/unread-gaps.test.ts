import { expect, it } from 'vitest';
import { unreadGaps } from '../../../src/kafka/admin/unread-gaps.ts';
import type { KafkaClient } from '../../../src/kafka/connect/kafkajs-client.ts';

/** Brokers that meet what is asked of the group with these errors, and then answer. */
function scripted(...errors: Error[]): KafkaClient {
  const fetchOffsets = async () => {
    const error = errors.shift();
    if (error) throw error;
    return [{ topic: 't', partitions: [{ partition: 0, offset: '1' }] }];
  };
  const fetchTopicOffsets = async () => [{ partition: 0, low: '3', high: '5' }];
  const connection = { connect: async () => {}, disconnect: async () => {} };
  return { admin: () => ({ ...connection, fetchOffsets, fetchTopicOffsets }) } as unknown as KafkaClient;
}

const gapsAt = (kafka: KafkaClient) =>
  unreadGaps({ kafka, groupId: 'g', topics: ['t'] }, new AbortController().signal);

it.each([
  // As kafkajs tells of brokers that have no coordinator yet.
  { name: 'KafkaJSGroupCoordinatorNotFound', retriable: false },
  { type: 'GROUP_LOAD_IN_PROGRESS', retriable: true },
])('brokers that are not ready to keep the group are asked again (%j)', async (fault) => {
  const error = Object.assign(new Error('not yet'), fault);
  expect(await gapsAt(scripted(error, error))).toEqual([
    { topic: 't', partition: 0, kind: 'deleted', from: 1, to: 2 },
  ]);
});

it('brokers that refuse what is asked of the group are not asked again', async () => {
  const fault = { type: 'GROUP_AUTHORIZATION_FAILED', retriable: false };
  const error = Object.assign(new Error('not authorized'), fault);
  await expect(gapsAt(scripted(error))).rejects.toBe(error);
});
