import { afterEach, describe, expect, it } from 'vitest';
import { MAX_MESSAGE_BYTES } from '../../../src/core/record.ts';
import type { TopicLimits } from '../../../src/kafka/admin/topic-limits.ts';
import type { Publisher } from '../../../src/kafka/produce/publisher.ts';
import { outgoing, ScriptedCluster } from '../../support/scripted-cluster.ts';

let publisher: Publisher;

afterEach(() => publisher.stop());

/** Limits as the brokers would tell them: what is known is renewed when it is asked for. */
function limitsOf(known: number, actual = known): TopicLimits & { renewals: number } {
  let bytes = known;
  return {
    renewals: 0,
    of: () => bytes,
    async renew() {
      this.renewals++;
      bytes = actual;
    },
  };
}

const code = (settled: PromiseSettledResult<unknown>) =>
  settled.status === 'rejected' ? (settled.reason as { code: string }).code : 'confirmed';

describe('a publisher that knows what a topic takes', () => {
  it('gives up a larger record without sending it, and keeps the order of those around it', async () => {
    const cluster = new ScriptedCluster();
    const limits = limitsOf(2_000);
    publisher = cluster.publisher(1e9, limits);
    const values = ['1', 'x'.repeat(1_000_000), '2', '3'];
    const ends = await Promise.allSettled(
      values.map((value) => publisher.publish(outgoing('k', value), 30_000)),
    );
    expect(ends.map(code)).toEqual(['confirmed', 'RECORD_TOO_LARGE', 'confirmed', 'confirmed']);
    expect(cluster.sends.flatMap(({ values: sent }) => sent)).toEqual(['1', '2', '3']);
    expect(limits.renewals).toBe(1);
    expect(publisher.backlogBytes).toBe(0);
  });

  it('asks again before it gives a record up: the limit may have been raised since', async () => {
    const cluster = new ScriptedCluster();
    const limits = limitsOf(2_000, 5_000);
    publisher = cluster.publisher(1e9, limits);
    await publisher.publish(outgoing('k', 'x'.repeat(4_000)), 30_000);
    await publisher.publish(outgoing('k', 'x'.repeat(4_000)), 30_000);
    expect(limits.renewals).toBe(1);
  });

  it('that knows nothing gives up at once what no broker reads, and names the topic', async () => {
    const cluster = new ScriptedCluster();
    publisher = cluster.publisher();
    const record = { ...outgoing('k', ''), value: Buffer.alloc(MAX_MESSAGE_BYTES) };
    await expect(publisher.publish(record, 30_000)).rejects.toMatchObject({
      code: 'RECORD_TOO_LARGE',
      topic: 't',
    });
    expect(cluster.sends).toEqual([]);
  });
});
