import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { envReader, nodeSource } from '../../../src/config/env.ts';
import { MAX_MESSAGE_BYTES } from '../../../src/core/record.ts';
import { createTopicLimits, type TopicLimits } from '../../../src/kafka/admin/topic-limits.ts';
import { kafkaSettings } from '../../../src/kafka/connect/settings.ts';
import { type KafkaAccess, openKafka } from '../../../src/kafka/open-kafka.ts';
import { Publisher } from '../../../src/kafka/produce/publisher.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createTopic } from '../../support/create-topic.ts';
import { setTopicBytes } from '../../support/topic-config.ts';
import { asAdmin } from '../../support/topic-reader.ts';
import { until } from '../../support/until.ts';

const topic = `limits-${randomUUID()}`;
const LIMIT = 20_000;
let env: Record<string, string>;
let kafka: KafkaAccess;

beforeAll(async () => {
  env = { KAFKA_BROKERS: inject('brokers').join(',') };
  const reader = envReader(nodeSource(env));
  const settings = reader.done(reader.read(kafkaSettings));
  const files = { renewed() {}, unusable() {} };
  kafka = openKafka({ settings, files, clock: systemClock, clientId: 'test', log() {} });
  await asAdmin(env, (admin) => createTopic(admin, { topic, numPartitions: 1 }));
  await setTopicBytes(env, topic, LIMIT);
});

afterAll(async () => {
  await asAdmin(env, (admin) => admin.deleteTopics({ topics: [topic] }));
});

function openPublisher(limits?: TopicLimits) {
  const attempts: string[] = [];
  const observer = {
    attempt: (outcome: string) => void attempts.push(outcome),
    confirmed() {},
    sessionOpened() {},
    troubleChanged() {},
  };
  const publisher = new Publisher({
    clock: systemClock,
    openSession: kafka.openSession,
    backlogBytes: 1e9,
    observer,
    ...(limits && { limits }),
  });
  return { publisher, attempts };
}

const sized = (bytes: number) => ({
  topic,
  key: Buffer.from('k'),
  value: Buffer.alloc(bytes),
  headers: new Map([[Buffer.from('name'), Buffer.from('value')]]),
});

describe('the limits of topics', () => {
  it('are read from the brokers, and read again when a record exceeds them', async () => {
    const limits = createTopicLimits(kafka.client, [topic], systemClock);
    expect(limits.of(topic)).toBe(MAX_MESSAGE_BYTES);
    await until('the limit is known', async () => {
      await limits.renew();
      return limits.of(topic) === LIMIT;
    });
    const { publisher } = openPublisher(limits);
    await expect(publisher.publish(sized(2 * LIMIT), 15_000)).rejects.toMatchObject({
      code: 'RECORD_TOO_LARGE',
    });
    await setTopicBytes(env, topic, 4 * LIMIT);
    await until('the raised limit is taken up', async () =>
      publisher.publish(sized(2 * LIMIT), 15_000).catch(() => false),
    );
    await setTopicBytes(env, topic, LIMIT);
    await publisher.stop();
  });

  it('are read where another topic is missing', async () => {
    const limits = createTopicLimits(kafka.client, [`${topic}-missing`, topic], systemClock);
    await limits.renew();
    expect(limits.of(topic)).toBe(LIMIT);
  });

  it('refuse nothing that the broker accepts, and pass nothing that is far above', async () => {
    const limits = createTopicLimits(kafka.client, [topic], systemClock);
    await until('the limit is known', async () => {
      await limits.renew();
      return limits.of(topic) === LIMIT;
    });
    const capped = openPublisher(limits);
    const plain = openPublisher();
    const outcome = (publisher: Publisher, bytes: number) =>
      publisher.publish(sized(bytes), 15_000).then(
        () => 'taken',
        (error) => error.code,
      );
    const sizes = Array.from({ length: 40 }, (_, n) => LIMIT - 120 + 4 * n);
    for (const bytes of sizes) {
      expect([bytes, await outcome(capped.publisher, bytes)]).toEqual([
        bytes,
        await outcome(plain.publisher, bytes),
      ]);
    }
    const refusedByBroker = (attempts: readonly string[]) =>
      attempts.filter((attempt) => attempt === 'split').length;
    expect(plain.attempts).toContain('confirmed');
    expect(refusedByBroker(plain.attempts)).toBeGreaterThan(10);
    // All but the few sizes for which only the broker can tell.
    expect(refusedByBroker(capped.attempts)).toBeLessThan(6);
    await Promise.all([capped.publisher.stop(), plain.publisher.stop()]);
  });
});
