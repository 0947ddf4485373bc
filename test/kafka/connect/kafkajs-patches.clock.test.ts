import '../../../src/kafka/connect/client-patches.ts';
import { createRequire } from 'node:module';
import { afterEach, expect, it, vi } from 'vitest';

const require = createRequire(import.meta.url);
const made = <T>(file: string, fields: object): T =>
  Object.assign(Object.create(require(`kafkajs/src/${file}`).prototype), fields);

afterEach(() => vi.restoreAllMocks());

const setBackByAnHour = () => {
  const now = Date.now();
  vi.spyOn(Date, 'now').mockReturnValue(now - 3_600_000);
};

it('a request is as old as it is, also where the clock was set back', () => {
  const request = made<{ sentAt: number | null }>('network/requestQueue/socketRequest.js', { sentAt: null });
  expect(request.sentAt).toBe(null);
  request.sentAt = Date.now();
  setBackByAnHour();
  const age = Date.now() - Number(request.sentAt);
  expect([age >= 0, age < 5_000]).toEqual([true, true]);
});

it('metadata is asked for again after its time, also where the clock was set back', async () => {
  const refreshMetadata = vi.fn(async () => {});
  const pool = made<{ refreshMetadataIfNecessary(topics: string[]): Promise<void> }>(
    'cluster/brokerPool.js',
    {
      metadataMaxAge: 3_000,
      metadataExpireAt: Date.now() + 3_000,
      metadata: { topicMetadata: [] },
      refreshMetadata,
    },
  );
  await pool.refreshMetadataIfNecessary([]);
  expect(refreshMetadata).not.toHaveBeenCalled();
  setBackByAnHour();
  await pool.refreshMetadataIfNecessary([]);
  expect(refreshMetadata).toHaveBeenCalledOnce();
});
