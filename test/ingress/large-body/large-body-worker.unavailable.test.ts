import { expect, it } from 'vitest';
import { verified } from '../../support/delivery-parts.ts';
import { largeBodyWorker } from '../../support/large-body-worker.ts';

it('a large body that the brokers do not confirm is refused with the reason that its thread knows', async () => {
  const large = largeBodyWorker();
  try {
    await expect(large.store(verified('{"type":"payment-status"}'), () => 2_000)).rejects.toMatchObject({
      code: 'PUBLISH_DEADLINE',
      message: expect.stringMatching(/payments.payment-status: .*127.0.0.1:9.*KAFKA_BROKERS/),
    });
  } finally {
    await large.stop();
  }
}, 30_000);
