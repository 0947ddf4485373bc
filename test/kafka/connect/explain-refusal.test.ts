import { expect, it } from 'vitest';
import { explainRefusal } from '../../../src/kafka/connect/explain-refusal.ts';

it('names the address and the remedy of brokers that accept a connection and answer nothing', () => {
  const error = explainRefusal(
    new Error('Broker not connected'),
    { brokers: ['kafka-1:9092', 'kafka-2:9092'], tls: undefined, sasl: undefined, loopbackOnly: false },
    { neverAnswered: true },
  );
  expect(error).toMatchObject({
    code: 'KAFKA_UNAVAILABLE',
    message: expect.stringContaining('kafka-1:9092, kafka-2:9092: no answer in time'),
    remedy: 'check that it runs, and check KAFKA_BROKERS and the network between',
  });
});
