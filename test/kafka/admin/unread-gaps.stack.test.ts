import { randomUUID } from 'node:crypto';
import { expect, inject, it, onTestFinished } from 'vitest';
import { unreadGaps } from '../../../src/kafka/admin/unread-gaps.ts';
import { createTopic } from '../../support/create-topic.ts';
import { testKafka } from '../../support/topic-reader.ts';

const kafka = testKafka({ KAFKA_BROKERS: inject('brokers').join(',') });

it('what was deleted before a group has read it is told, and where that is not known', async () => {
  const topic = `gaps-${randomUUID()}`;
  const groupId = `${topic}-group`;
  const admin = kafka.admin();
  await admin.connect();
  onTestFinished(() => admin.disconnect());
  await createTopic(admin, { topic, numPartitions: 5 });
  const gaps = () => unreadGaps({ kafka, groupId, topics: [topic] }, new AbortController().signal);
  expect(await gaps()).toEqual([]);
  const producer = kafka.producer();
  await producer.connect();
  onTestFinished(() => producer.disconnect());
  const messages = [0, 1, 2, 3].flatMap((partition) =>
    Array.from({ length: 5 }, () => ({ partition, value: 'command' })),
  );
  await producer.send({ topic, messages });
  expect(await gaps()).toEqual([]);
  const deleted = [0, 1, 2].map((partition) => ({ partition, offset: '3' }));
  await admin.deleteTopicRecords({ topic, partitions: deleted });
  const committed = ['1', '3', '-1', '7', '0'].flatMap((offset, partition) =>
    offset === '-1' ? [] : [{ partition, offset }],
  );
  await admin.setOffsets({ groupId, topic, partitions: committed });
  expect(await gaps()).toEqual([
    { topic, partition: 0, kind: 'deleted', from: 1, to: 2 },
    { topic, partition: 2, kind: 'unknown', to: 2 },
    { topic, partition: 3, kind: 'end lost', from: 7, end: 5 },
  ]);
});
