import { describe, expect, it } from 'vitest';
import type { KafkaClient } from '../../../src/kafka/connect/kafkajs-client.ts';
import { followTopic } from '../../../src/kafka/consume/topic-follower.ts';
import { systemClock } from '../../../src/runtime/clock.ts';

type EachBatch = (payload: unknown) => Promise<void>;

/** A client whose one consumer hands over the batches that a test gives it. */
function scriptedClient() {
  let eachBatch: EachBatch = async () => {};
  const consumer = {
    events: { CRASH: 'consumer.crash', END_BATCH_PROCESS: 'consumer.end_batch_process' },
    ...{ on() {}, connect: async () => {}, disconnect: async () => {}, subscribe: async () => {}, seek() {} },
    run: async (config: { eachBatch: EachBatch }) => {
      eachBatch = config.eachBatch;
    },
  };
  const admin = {
    ...{ connect: async () => {}, disconnect: async () => {}, deleteGroups: async () => [] },
    fetchTopicOffsets: async () => [{ partition: 0, low: '0', high: '5', offset: '5' }],
    fetchTopicOffsetsByTimestamp: async (_: string, time: number) => [
      { partition: 0, offset: time === 1_000 ? '3' : '0' },
    ],
  };
  const client = { consumer: () => consumer, admin: () => admin } as unknown as KafkaClient;
  /** A batch of these offsets, broken off after so many records. */
  const give = (offsets: readonly number[], brokenAfter = Number.POSITIVE_INFINITY) => {
    let handed = 0;
    return eachBatch({
      batch: {
        partition: 0,
        messages: offsets.map((offset) => ({
          offset: String(offset),
          key: null,
          value: null,
          headers: {},
          timestamp: '0',
        })),
        lastOffset: () => String(offsets.at(-1)),
      },
      isRunning: () => true,
      isStale: () => handed++ >= brokenAfter,
      resolveOffset() {},
      heartbeat: async () => {},
    });
  };
  return { client, give };
}

describe('a follower of a topic', () => {
  it.each([
    ['now', []],
    [1_000, [3, 4]],
    [undefined, [0, 1, 2, 3, 4]],
  ] as const)('that begins at %s hands over what was written from there on', async (from, expected) => {
    const { client, give } = scriptedClient();
    const seen: number[] = [];
    const follower = await followTopic({
      kafka: client,
      topic: 't',
      newGroupId: () => 'g',
      clock: systemClock,
      onRecord: ({ offset }) => void seen.push(Number(offset)),
      ...(from !== undefined && { from }),
    });
    await give([0, 1, 2, 3, 4]);
    expect(seen).toEqual(expected);
    await follower.stop();
  });

  it('hands over what was left of a batch that a seek broke off, and nothing twice', async () => {
    const { client, give } = scriptedClient();
    const seen: number[] = [];
    const follower = await followTopic({
      kafka: client,
      topic: 't',
      newGroupId: () => 'g',
      clock: systemClock,
      onRecord: ({ offset }) => void seen.push(Number(offset)),
    });
    await give([0, 1, 2, 3, 4], 2);
    expect(seen).toEqual([0, 1]);
    await give([0, 1, 2, 3, 4]);
    expect(seen).toEqual([0, 1, 2, 3, 4]);
    await follower.caughtUp(new AbortController().signal);
    await follower.stop();
  });
});
