import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { connectKafka, loadConfig } from '../../src/cli/shell/connections.ts';
import { nodeSource } from '../../src/config/env.ts';
import { leaseOf } from '../../src/core/lease.ts';
import { openDeadLetterTopic } from '../../src/dead-letters/dead-letter-topic.ts';
import { observeOpenCount } from '../../src/dead-letters/observe-open-count.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../src/delivery/dead-letter/dead-letter-headers.ts';
import { createMetrics } from '../../src/runtime/metrics.ts';
import { capturedLog } from '../support/captured-log.ts';
import { createTopic } from '../support/create-topic.ts';
import { asAdmin, testKafka } from '../support/topic-reader.ts';
import { until } from '../support/until.ts';

const prefix = `open-${randomUUID()}`;
const topic = `${prefix}.dead-letter`;
const COUNT = 20_000;
let env: Record<string, string>;

beforeAll(async () => {
  env = { KAFKA_BROKERS: inject('brokers').join(',') };
  const kafka = testKafka(env);
  const admin = kafka.admin();
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 });
  await Promise.all([admin.connect(), producer.connect()]);
  const configEntries = [{ name: 'retention.ms', value: '86400000' }];
  await createTopic(admin, { topic, numPartitions: 3, configEntries });
  const messages = Array.from({ length: COUNT }, (_, n) => ({
    partition: n % 3,
    key: `e${n}`,
    value: Buffer.alloc(300, n % 251),
    headers: {
      [NAMES.stage]: n % 4 ? 'DECRYPT' : 'PARSE',
      [NAMES.eventId]: `e${n}`,
      [NAMES.receivedAt]: '1',
    },
  }));
  for (let n = 0; n < COUNT; n += 2_000)
    await producer.send({ topic, messages: messages.slice(n, n + 2_000) });
  // Offsets 0 to 9 of partition 1 are dismissed.
  const dismissals = Array.from({ length: 10 }, (_, n) => ({
    partition: 1,
    key: `e${1 + 3 * n}`,
    value: null,
    headers: { [NAMES.dismissalOf]: `1:${n}` },
  }));
  await producer.send({ topic, messages: dismissals });
  await Promise.all([admin.disconnect(), producer.disconnect()]);
});

afterAll(async () => {
  await asAdmin(env, (admin) => admin.deleteTopics({ topics: [topic] }));
});

it('20,000 dead-letter records of a real topic are counted, as `dlq list` has them', async () => {
  const config = loadConfig({ source: nodeSource(env) }, 'kafka');
  const access = connectKafka(config);
  const metrics = createMetrics();
  const { logger, lines } = capturedLog();
  const settings = { topics: { prefix }, control: { retiredDecryptionKeysTtlMs: Number.POSITIVE_INFINITY } };
  const watch = observeOpenCount(access, settings, { logger, metrics });
  const lease = new AbortController();
  const value = async (name: string) => (await metrics.registry.getSingleMetric(name)?.get())?.values ?? [];
  try {
    watch.working(leaseOf(lease.signal));
    const counted = async () =>
      (await value('hookline_dead_letters_counted_timestamp_seconds'))[0]?.value ?? 0;
    await until('they are counted', async () => (await counted()) > 0, 30_000);
    const open = await value('hookline_dead_letters_open');
    const noBodies = { bodies: undefined, sealingKeys: undefined };
    const listed = await openDeadLetterTopic(access, prefix, noBodies, new AbortController().signal);
    const states = Map.groupBy(await listed.all(), ({ dismissed }) => dismissed !== null);
    await listed.stop();
    expect(open.reduce((sum, one) => sum + one.value, 0)).toBe(states.get(false)?.length);
    expect(states.get(true)).toHaveLength(10);
    expect((await value('hookline_dead_letters_retention_seconds'))[0]?.value).toBe(86_400);
    expect((await value('hookline_dead_letters_open_oldest_seconds'))[0]?.value).toBeGreaterThan(0);
  } finally {
    await watch.stop();
  }
  expect(await value('hookline_dead_letters_open')).toEqual([]);
  expect(lines()).toEqual([]);
});
