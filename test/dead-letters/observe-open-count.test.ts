import { expect, it } from 'vitest';
import { openCountObserver } from '../../src/dead-letters/observe-open-count.ts';
import { createMetrics } from '../../src/runtime/metrics.ts';
import { capturedLog } from '../support/captured-log.ts';

const DAY = 24 * 60 * 60;

it('a topic that keeps records longer than their keys are kept is reported, once for each retention', () => {
  const log = capturedLog();
  const metrics = createMetrics({ ofNode: false });
  const { onCounted } = openCountObserver({
    logger: log.logger,
    metrics,
    retiredDecryptionKeysTtlMs: 90 * DAY * 1_000,
  });
  const reported = (days: number | null) => {
    const retentionSeconds = days === null ? null : days * DAY;
    onCounted({ byStage: new Map(), oldestSeconds: 0, retentionSeconds });
    return log.lines().length;
  };
  expect([30, null, 89].map(reported)).toEqual([0, 0, 0]);
  expect([90, 90].map(reported)).toEqual([1, 1]);
  expect(log.lines()[0]).toMatchObject({
    level: 'warn',
    retentionSeconds: 90 * DAY,
    keysKeptSeconds: 90 * DAY,
    msg: expect.stringContaining('RETIRED_DECRYPTION_KEYS_TTL_MS'),
  });
  expect([Number.POSITIVE_INFINITY, 30, 120].map(reported)).toEqual([2, 2, 3]);
});
