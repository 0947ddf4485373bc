import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { type ControlKit, openControlKit } from './control/control-kit.ts';

let kit: ControlKit;

beforeAll(async () => {
  kit = await openControlKit();
});

afterAll(() => kit?.[Symbol.asyncDispose]());

const COMMANDS = 5;

it('a ref whose calls hang holds up no other, in its own partition neither; it goes on by itself', async () => {
  const control = kit.start({ COMMAND_DEADLINE_MS: '20000' });
  await control.logged('reading commands');
  const update = { type: 'subscription.update', events: ['payment-status', 'accounts-entries'] };
  const create = { type: 'subscription.create', events: ['payment-status'] };
  await kit.send({ commandId: 'before', ref: 'hanging', ...create });
  await kit.settled(['before']);
  const [{ id = '' } = {}] = await kit.subscriptions();
  kit.provider.hang((path) => path.endsWith(`/${id}`));
  const stuck = Array.from({ length: COMMANDS }, (_, n) => `stuck-${n}`);
  for (const commandId of stuck) await kit.send({ commandId, ref: 'hanging', ...update });
  await until('a call hangs', () => kit.provider.hanging() > 0);

  const others = Array.from({ length: 30 }, (_, n) => `other-${n}`);
  for (const [n, ref] of others.entries()) {
    // A third of them under the key of the one that hangs, and so behind it in its partition.
    const key = n % 3 === 0 ? 'hanging' : ref;
    await kit.send({ commandId: `create-${ref}`, ref, ...create }, key);
    await kit.send({ commandId: `update-${ref}`, ref, ...update }, key);
    await kit.send({ commandId: `delete-${ref}`, ref, type: 'subscription.delete' }, key);
  }
  const ids = others.flatMap((ref) => [`create-${ref}`, `update-${ref}`, `delete-${ref}`]);
  await until('the others have their results', () => ids.every((one) => kit.results(one).length > 0), 60_000);
  const last = Math.max(...ids.map((one) => kit.results(one)[0]?.finishedAt ?? 0));
  expect(ids.filter((one) => kit.results(one)[0]?.status !== 'SUCCEEDED')).toEqual([]);

  // The first of those that hang ends at its deadline; then the service answers again.
  await until('the first has ended', () => kit.results('stuck-0').length > 0, 60_000);
  expect(kit.results('stuck-0')).toMatchObject([{ status: 'FAILED', errorCode: 'PROVIDER_UNAVAILABLE' }]);
  expect(last).toBeLessThan(kit.results('stuck-0')[0]?.finishedAt ?? 0);
  kit.provider.hang(() => false);
  await kit.settled([...stuck, ...ids], 90_000);
  expect(kit.results(`stuck-${COMMANDS - 1}`)).toMatchObject([{ status: 'SUCCEEDED' }]);
  expect(kit.results('before')).toHaveLength(1);
  await control.stop();
});
