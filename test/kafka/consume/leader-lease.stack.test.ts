import { randomUUID } from 'node:crypto';
import { Admin } from '@platformatic/kafka';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { acquireLeaderLease, type HeldLease } from '../../../src/kafka/consume/leader-lease.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createTopic } from '../../support/create-topic.ts';
import { asAdmin, testKafka } from '../../support/topic-reader.ts';
import { until } from '../../support/until.ts';

const topic = `hold-${randomUUID()}`;
let env: Record<string, string>;

beforeAll(async () => {
  env = { KAFKA_BROKERS: inject('brokers').join(',') };
  await asAdmin(env, (admin) => createTopic(admin, { topic, numPartitions: 3 }));
});

afterAll(async () => {
  await asAdmin(env, (admin) => admin.deleteTopics({ topics: [topic] }));
});

const attempt = (groupId: string) =>
  acquireLeaderLease({
    kafka: testKafka(env),
    groupId,
    topic,
    clock: systemClock,
    signal: new AbortController().signal,
  });
const held = (result: Awaited<ReturnType<typeof attempt>>): HeldLease =>
  'holder' in result ? expect.fail(`held by ${result.holder}`) : result;

describe('a lease that the leader of a group holds', () => {
  it('is refused to a second process, which learns who has it, and free again when it is released', async () => {
    const groupId = randomUUID();
    const first = held(await attempt(groupId));
    expect(await attempt(groupId)).toEqual({ holder: expect.stringMatching(/\d+\.\d+\.\d+\.\d+/) });
    expect(await attempt(groupId)).toHaveProperty('holder');
    expect(first.signal.aborted).toBe(false);
    await first.release();
    const second = held(await attempt(groupId));
    await second.release();
  });

  it('goes to one of those who want it at the same time, and another name is another matter', async () => {
    const groupId = randomUUID();
    const results = await Promise.all([attempt(groupId), attempt(groupId), attempt(groupId)]);
    const holds = results.filter((result): result is HeldLease => !('holder' in result));
    expect(holds).toHaveLength(1);
    expect(holds[0]?.signal.aborted).toBe(false);
    await held(await attempt(randomUUID())).release();
    await holds[0]?.release();
  });

  it('is told to be lost when the brokers gave it to another', async () => {
    const groupId = randomUUID();
    const { signal: lost, release } = held(await attempt(groupId));
    const admin = new Admin({ clientId: 'test', bootstrapBrokers: inject('brokers') });
    // The broker forgets the holder, as it does with one that was silent for too long, and another comes before it.
    const second = await until('another has it', async () => {
      await admin.removeMembersFromConsumerGroup({ groupId, members: null });
      const result = await attempt(groupId);
      return 'holder' in result ? null : result;
    });
    await until('it is told', () => lost.aborted, 20_000);
    expect(second.signal.aborted).toBe(false);
    await Promise.all([release(), second.release(), admin.close()]);
  });
});
