import { expect, it } from 'vitest';
import { createKafkajs } from '../../../src/kafka/connect/kafkajs-client.ts';

it('an error that a consumer tells by an event can be explained as those of its methods are', () => {
  const connection = { brokers: ['broker:9092'], tls: undefined, sasl: undefined, loopbackOnly: false };
  const consumer = createKafkajs(connection, 'test', () => {}).consumer({ groupId: 'g' });
  const error = new Error('Connection error: unable to verify the first certificate');
  expect(consumer.explain?.(error)).toMatchObject({
    code: 'KAFKA_UNAVAILABLE',
    message: expect.stringContaining('KAFKA_CA_FILE'),
    cause: error,
  });
  const other = new Error('something else');
  expect(consumer.explain?.(other)).toBe(other);
});
