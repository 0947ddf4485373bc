import type kafkajs from 'kafkajs';
import { expect, it } from 'vitest';
import { applyTopics, planTopics, type TopicPlan } from '../../../src/kafka/admin/topics.ts';

const SETTING = 'message.timestamp.type';
const PLAN: TopicPlan = {
  spec: {
    name: 't',
    partitions: 6,
    replicationFactor: 3,
    config: { [SETTING]: 'LogAppendTime', 'retention.ms': '5' },
  },
  action: 'change',
  changes: [{ setting: SETTING, is: 'CreateTime', wanted: 'LogAppendTime' }],
  notes: [],
  kept: [],
  isRefused: false,
  differs: false,
  leaderless: null,
};

/** Brokers that answer every change with this error, as the client words it. */
function brokers(type: string): kafkajs.Admin {
  const error = Object.assign(new Error('as the client says it'), { type });
  return {
    createTopics: async () => {
      throw Object.assign(new Error('Topic creation errors'), { errors: [error] });
    },
    describeConfigs: async () => ({ resources: [] }),
    alterConfigs: async () => {
      throw error;
    },
  } as unknown as kafkajs.Admin;
}

it.each([
  ['change', 't with message.timestamp.type=LogAppendTime:'],
  ['create', 't with 6 partitions, 3 replicas, message.timestamp.type=LogAppendTime, retention.ms=5:'],
] as const)(
  'a %s that the policy of a cluster refuses is told with the topic, the settings and what to do',
  async (action, asked) => {
    for (const type of ['POLICY_VIOLATION', 'INVALID_CONFIG'])
      await expect(applyTopics(brokers(type), [{ ...PLAN, action }])).rejects.toMatchObject({
        message: expect.stringMatching(/^the cluster refuses .*: give it what the cluster allows .*--topic/),
        cause: expect.objectContaining({ type }),
      });
    const error = await applyTopics(brokers('INVALID_CONFIG'), [{ ...PLAN, action }]).catch((one) => one);
    expect(error.message).toContain(asked);
  },
);

it.each(['change', 'create'] as const)('any other answer to a %s is told as it is', async (action) => {
  await expect(applyTopics(brokers('TOPIC_AUTHORIZATION_FAILED'), [{ ...PLAN, action }])).rejects.toThrow(
    /^as the client says it$/,
  );
});

it('nothing is said of the partitions of a topic that was just created, which the brokers do not tell yet', async () => {
  const spec = { ...PLAN.spec, config: {} };
  const admin = {
    listTopics: async () => [spec.name],
    describeConfigs: async () => ({ resources: [] }),
    fetchTopicMetadata: async () => ({ topics: [] }),
  } as unknown as kafkajs.Admin;
  const [plan] = await planTopics(admin, [spec], { allowDataLoss: false, minInsyncReplicas: 1 });
  expect(plan).toMatchObject({ notes: [], differs: false, leaderless: null });
});
