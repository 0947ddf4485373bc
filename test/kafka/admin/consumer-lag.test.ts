import type kafkajs from 'kafkajs';
import { expect, it, vi } from 'vitest';
import { watchLag } from '../../../src/kafka/admin/consumer-lag.ts';
import type { KafkaClient } from '../../../src/kafka/connect/kafkajs-client.ts';

it('a stop does not wait for brokers that accept connections and answer nothing', async () => {
  const connect = vi.fn(() => new Promise<void>(() => {}));
  const disconnect = async () => {};
  const silent = { admin: () => ({ connect, disconnect }) as unknown as kafkajs.Admin } as KafkaClient;
  const watch = watchLag({
    ...{ kafka: silent, groupId: 'g', topics: ['t'] },
    onLag: () => expect.unreachable(),
    onFailure: () => expect.unreachable(),
  });
  await watch.stop();
  expect(connect).toHaveBeenCalledOnce();
});
