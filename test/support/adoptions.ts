import { expect } from 'vitest';
import { type ControlHarness, create, killed, PUBLIC_URL } from './control-harness.ts';

/** The address of the ref `a`. */
export const url = `${PUBLIC_URL}/webhooks/a`;
export const adopt = (more: object = {}) => ({ type: 'subscription.adopt', ref: 'a', ...more });

/** A foreign subscription whose secrets are in SECRETS_DIR. */
export async function seedKnown(harness: ControlHarness, more: object = {}) {
  const seeded = await harness.seed(more);
  harness.fixture.secrets('a', { 'subscription-id': seeded.id, 'signing-secret': seeded.signingSecret });
  return seeded;
}

/** The ref `a` has a subscription that is deleted. */
export async function deleteOne(harness: ControlHarness) {
  await harness.run(create('a'));
  await harness.run({ type: 'subscription.delete', ref: 'a' });
}

/** The ref `a` has an intent, whose creation was made and not stored. */
export async function createInPart(harness: ControlHarness, more: object = {}) {
  harness.hooks.onWrite = () => {
    if (harness.state.get('a')?.state === 'REQUESTED') throw killed();
  };
  const record = harness.recordOf({ commandId: 'c-1', ...create('a', more) });
  await expect(harness.take(record)).rejects.toMatchObject({ code: 'PUBLISHER_CLOSED' });
  delete harness.hooks.onWrite;
  return record;
}

/** Takes a command whose process is killed right before it changes the subscription. */
export async function takeUntilPut(harness: ControlHarness, record: ReturnType<ControlHarness['recordOf']>) {
  harness.hooks.onCall = ({ method }) => {
    if (method === 'PUT') throw killed();
  };
  await expect(harness.take(record)).rejects.toMatchObject({ code: 'PUBLISHER_CLOSED' });
  delete harness.hooks.onCall;
}
