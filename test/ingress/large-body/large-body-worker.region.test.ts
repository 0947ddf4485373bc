import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { verified } from '../../support/delivery-parts.ts';
import { largeBodyWorker } from '../../support/large-body-worker.ts';

beforeEach(() => {
  for (const name of ['AWS_REGION', 'AWS_PROFILE']) vi.stubEnv(name, undefined);
  for (const name of ['AWS_SHARED_CREDENTIALS_FILE', 'AWS_CONFIG_FILE']) vi.stubEnv(name, '/nowhere/aws');
});
afterEach(() => vi.unstubAllEnvs());

// A delivery of the spool that ends its thread twice would become a dead-letter record.
it('a thread that starts while the file with the region of AWS is gone does not end', async () => {
  const deaths: unknown[] = [];
  const large = largeBodyWorker({ BODY_STORE: 's3://events' }, (error) => deaths.push(error));
  try {
    await expect(large.identify(verified('{"type":"payment-status"}'))).resolves.toHaveProperty('eventId');
    expect(deaths).toEqual([]);
  } finally {
    await large.stop();
  }
});
