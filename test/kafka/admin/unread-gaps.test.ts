import { expect, it } from 'vitest';
import { tellUnreadGaps, type UnreadGap, unreadGaps } from '../../../src/kafka/admin/unread-gaps.ts';
import type { KafkaClient } from '../../../src/kafka/connect/kafkajs-client.ts';
import { createProbes } from '../../../src/runtime/admin-server.ts';
import type { ProcessContext } from '../../../src/runtime/process-shell.ts';
import { createStartGate } from '../../../src/runtime/start-gate.ts';
import { capturedLog } from '../../support/captured-log.ts';

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

const GROUP = { groupId: 'g', topics: ['t'] };
const GAPS = [{ topic: 't', partition: 0, kind: 'deleted', from: 1, to: 2 }];

const gapsAt = (kafka: KafkaClient) => unreadGaps({ kafka, ...GROUP }, new AbortController().signal);

it('brokers that are not ready to keep the group are asked again', async () => {
  const error = Object.assign(new Error('not yet'), { type: 'GROUP_LOAD_IN_PROGRESS', retriable: true });
  expect(await gapsAt(scripted(error, error))).toEqual(GAPS);
});

it('brokers that refuse what is asked of the group are not asked again, and the right that is missing is named', async () => {
  const fault = { type: 'GROUP_AUTHORIZATION_FAILED', retriable: false };
  const error = Object.assign(new Error('not authorized'), fault);
  await expect(gapsAt(scripted(error))).rejects.toMatchObject({
    cause: error,
    message: expect.stringMatching(/the consumer group g.*grant Read on this group/),
  });
});

/** What is told at a start, and what readiness said before each time that the brokers were asked. */
async function toldAt(...errors: Error[]) {
  const kafka = scripted(...errors);
  const probes = createProbes();
  const stopping = new AbortController().signal;
  const backoff = { firstMs: 1, factor: 1, maxMs: 1 };
  const { logger } = capturedLog();
  const gate = createStartGate({ logger, probes, stopping, backoff });
  const reasons: string[] = [];
  const told: unknown[] = [];
  const asked: KafkaClient = {
    ...kafka,
    admin() {
      reasons.push(probes.readiness().reasons.start ?? '');
      return kafka.admin();
    },
  };
  const observer = {
    unreadGaps: (gaps: readonly UnreadGap[]) => void told.push(...gaps),
    unknownGaps: (error: Error) => void told.push(error),
  };
  const context = { gate, components: { stopping } } as ProcessContext;
  await tellUnreadGaps({ kafka: asked, ...GROUP }, observer, context);
  return { told, reasons };
}

it('a start waits for brokers that keep the group, asks each time anew, and readiness says what it waits for', async () => {
  // As kafkajs tells it, which has asked each broker for seconds.
  const none = Object.assign(new Error('Failed to find'), { name: 'KafkaJSGroupCoordinatorNotFound' });
  const { told, reasons } = await toldAt(none, none);
  expect(told).toEqual(GAPS);
  const why = expect.stringMatching(/^waiting for the commands: KAFKA_UNAVAILABLE: .*consumer group g/);
  expect(reasons).toEqual(['waiting for the commands', why, why]);
});

it('a start goes on where the brokers tell nothing of the group for another reason', async () => {
  const { told, reasons } = await toldAt(new Error('they say no'));
  expect(told).toEqual([expect.objectContaining({ message: 'they say no' })]);
  expect(reasons).toHaveLength(1);
});

it('a start that is stopped meanwhile tells nothing', async () => {
  const stopping = new AbortController();
  const admin = () => {
    stopping.abort(new Error('stopped'));
    return scripted().admin();
  };
  const none = () => expect.fail('told');
  const { logger, lines } = capturedLog();
  const gate = createStartGate({ logger, probes: createProbes(), stopping: stopping.signal });
  const context = { gate, components: { stopping: stopping.signal } } as ProcessContext;
  const told = tellUnreadGaps(
    { kafka: { ...scripted(), admin }, ...GROUP },
    { unreadGaps: none, unknownGaps: none },
    context,
  );
  await expect(told).rejects.toThrow('stopped');
  expect(lines()).toEqual([]);
});
