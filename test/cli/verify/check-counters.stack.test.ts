import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { cli } from '../../support/cli.ts';
import { postSigned } from '../../support/sign.ts';
import { asAdmin } from '../../support/topic-reader.ts';
import { Fixture } from '../../support/topics-fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await Fixture.make(inject('stack'), { partitions: 1 });
});
afterAll(() => fixture[Symbol.asyncDispose]());

it('does not call it well where records of that time are deleted', async () => {
  const keys = { subscriptionId: randomUUID(), signingSecret: randomUUID() };
  fixture.secrets('ledger', { 'subscription-id': keys.subscriptionId, 'signing-secret': keys.signingSecret });
  fixture.secrets('hookline-probe', {
    'subscription-id': randomUUID(),
    'signing-secret': randomBytes(18).toString('hex'),
  });
  const { url, process } = await fixture.ingress();
  const { port } = await process.logged('admin listening');
  for (let n = 0; n < 10; n++) {
    const body = { type: 'payment-status', entityId: `e${n}`, payload: { status: 'ACCC' } };
    await postSigned(`${url}/webhooks/ledger`, keys, JSON.stringify(body));
  }
  const verify = () =>
    cli({ ...fixture.env, VERIFY_URL: url }, 'verify', '--target', `http://127.0.0.1:${port}`);
  expect(await verify()).toMatchObject({ exitCode: 0 });
  await asAdmin(fixture.env, async (admin) => {
    // Before it deletes records, the client must know the topic.
    await admin.fetchTopicOffsets(fixture.topic('payment-status'));
    const partitions = [{ partition: 0, offset: '10' }];
    await admin.deleteTopicRecords({ topic: fixture.topic('payment-status'), partitions });
  });
  expect(await verify()).toMatchObject({
    exitCode: 3,
    out: expect.stringContaining('records of that time are deleted already'),
  });
});
