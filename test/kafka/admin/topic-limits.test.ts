import { expect, it } from 'vitest';
import { MAX_MESSAGE_BYTES } from '../../../src/core/record.ts';
import { createTopicLimits } from '../../../src/kafka/admin/topic-limits.ts';
import type { KafkaClient } from '../../../src/kafka/connect/kafkajs-client.ts';
import { manualClock } from '../../support/manual-clock.ts';

const answered = (type: string) => Object.assign(new Error('the brokers say no'), { type });

it('what was known of a topic is forgotten when the right to ask for it is gone, and kept while the brokers do not answer', async () => {
  let answer: string | Error = '20000';
  const admin = {
    connect: async () => {},
    disconnect: async () => {},
    async describeConfigs() {
      if (answer instanceof Error) throw answer;
      const configEntries = [{ configName: 'max.message.bytes', configValue: answer }];
      return { resources: [{ resourceName: 't', configEntries }] };
    },
  };
  const clock = manualClock();
  const limits = createTopicLimits({ admin: () => admin } as unknown as KafkaClient, ['t'], clock);
  const limit = async (now: string | Error) => {
    answer = now;
    await clock.advance(1_000);
    await limits.renew();
    return limits.of('t');
  };
  expect(await limit('20000')).toBe(20_000);
  expect(await limit(new Error('no broker answers'))).toBe(20_000);
  expect(await limit(answered('UNKNOWN_TOPIC_OR_PARTITION'))).toBe(20_000);
  expect(await limit(answered('TOPIC_AUTHORIZATION_FAILED'))).toBe(MAX_MESSAGE_BYTES);
  expect(await limit('30000')).toBe(30_000);
});
