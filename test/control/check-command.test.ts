import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DEFAULT_DIALECT } from '../../src/provider/dialect.ts';
import { create, openControlHarness } from '../support/control-harness.ts';

const OTHER = 'payments.commands-analytics';
const update = { type: 'subscription.update', ref: 'a' };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('before a command is carried out', () => {
  it('its time is looked at', async () => {
    await using harness = await openControlHarness();
    const soon = { expiresAt: Date.now() + 1_000 };
    expect(await harness.run(create('a', soon))).toMatchObject({ status: 'SUCCEEDED' });
    vi.setSystemTime(Date.now() + 1_001);
    expect(await harness.run(create('b', soon))).toMatchObject({
      status: 'EXPIRED',
      errorCode: 'COMMAND_EXPIRED',
      attempts: 0,
    });
  });

  it('its owner is looked at: a ref belongs to the topic that created it, until the keys of the deleted are dead', async () => {
    await using harness = await openControlHarness({ retiredKeysTtlMs: 10_000 });
    await harness.run(create('a'));
    const foreign = { status: 'REJECTED', errorCode: 'NOT_OWNER', attempts: 0 };
    expect(await harness.run(update, OTHER)).toMatchObject(foreign);
    expect(await harness.run({ type: 'subscription.delete', ref: 'a' }, OTHER)).toMatchObject(foreign);
    await harness.run({ type: 'subscription.delete', ref: 'a' });
    expect(await harness.run(create('a'), OTHER)).toMatchObject(foreign);
    vi.setSystemTime(Date.now() + 10_001);
    expect(await harness.run(create('a'), OTHER)).toMatchObject({ status: 'SUCCEEDED' });
    expect(harness.state.get('a')?.owner).toBe(OTHER);
    expect(harness.secretsOf('a')).not.toHaveProperty('previous');
  });

  it.each([
    ...['subscription.create', 'subscription.update', 'subscription.delete', 'subscription.adopt'],
    ...['subscription.list', 'webhook.replay'],
  ])('its ref has to match a pattern of its topic, of %s too', async (type) => {
    await using harness = await openControlHarness({ refPatterns: { [OTHER]: ['ledger-*', 'gl'] } });
    const result = await harness.run({ type, ref: 'ledger', executionIds: ['x'], dryRun: true }, OTHER);
    expect(result).toMatchObject({ status: 'REJECTED', errorCode: 'NOT_OWNER', attempts: 0 });
    expect(result.message).toContain(`(${OTHER} takes refs that match ledger-* or gl)`);
  });

  it('the ref of probes is taken from no topic', async () => {
    await using harness = await openControlHarness({ refPatterns: { [OTHER]: ['*'] } });
    for (const type of ['subscription.create', 'subscription.adopt', 'webhook.replay']) {
      const result = await harness.run({ type, ref: 'hookline-probe', executionIds: ['x'] }, OTHER);
      expect(result).toMatchObject({ status: 'REJECTED', errorCode: 'NOT_OWNER', attempts: 0 });
      expect(result.message).toContain('(hookline-probe belongs to hookline verify)');
    }
  });

  it('its pattern gives no ref that another topic has created: the first creator owns', async () => {
    await using harness = await openControlHarness({ refPatterns: { [OTHER]: ['a*'] } });
    expect(await harness.run(create('aa'), OTHER)).toMatchObject({ status: 'SUCCEEDED' });
    expect(await harness.run(create('ab'))).toMatchObject({ status: 'SUCCEEDED' });
    expect(await harness.run({ ...update, ref: 'ab' }, OTHER)).toMatchObject({ errorCode: 'NOT_OWNER' });
    expect(await harness.run({ ...update, ref: 'aa' })).toMatchObject({ errorCode: 'NOT_OWNER' });
  });

  it('its time tells nothing of refs that its topic does not take: whether there is one or not, it is NOT_OWNER', async () => {
    await using harness = await openControlHarness({ refPatterns: { [OTHER]: ['ledger-*'] } });
    await harness.run(create('a'));
    const late = { type: 'subscription.delete', expiresAt: Date.now() - 1 };
    for (const ref of ['a', 'b'])
      expect(await harness.run({ ...late, ref }, OTHER)).toMatchObject({ errorCode: 'NOT_OWNER' });
  });

  it('a ref that is not its topic’s is not spoken of, whatever ifMatch says', async () => {
    await using harness = await openControlHarness();
    const { commandId } = await harness.run(create('a'));
    const result = await harness.run({ ...update, ifMatch: 'x' }, OTHER);
    expect(result).toMatchObject({ errorCode: 'NOT_OWNER' });
    expect(result.message).not.toContain(commandId);
  });

  it.each(['subscription.create', 'subscription.update', 'subscription.adopt'])(
    'an unknown event of %s is named, with those that are known',
    async (type) => {
      await using harness = await openControlHarness();
      const result = await harness.run({ type, ref: 'a', events: ['payment_status', 'constructor'] });
      expect(result).toMatchObject({ status: 'REJECTED', errorCode: 'UNKNOWN_EVENT' });
      expect(result.message).toContain('"constructor"; known are payment-status, accounts-entries');
    },
  );

  it.each([
    ['subscription.create', { encryptionKey: 'mine' }, 'extra.encryptionKey would set the key'],
    ['subscription.update', { URL: 'https://evil.example', note: 1 }, 'extra.URL would set the address'],
    ['subscription.update', { note: { Encryption_Key: 'x' } }, 'extra.note.Encryption_Key would set the key'],
    ['subscription.adopt', { url: 'https://evil.example' }, 'extra.url would set the address'],
    [
      'subscription.delete',
      { other: 1 },
      "extra.other is not in the dialect's extra.allow, which names note",
    ],
    ['subscription.list', { other: 1 }, "extra.other is not in the dialect's extra.allow, which names note"],
    ['webhook.replay', { executionId: 'x' }, 'extra.executionId is set by the dialect itself'],
  ])('extra of %s adds what the dialect allows, and nothing else: %j', async (type, extra, told) => {
    await using harness = await openControlHarness({ dialect: '{"extra":{"allow":["note"]}}' });
    const result = await harness.run({ type, ref: 'a', executionIds: ['x'], extra });
    expect(result).toMatchObject({ status: 'REJECTED', errorCode: 'EXTRA_CONFLICT', attempts: 0 });
    expect(result.message).toContain(`(${told}`);
    expect(result.message).toMatch(/: leave it out, or have the operator name the field in .*extra\.allow$/);
  });

  it('extra is sent as it was checked, whichever member of a name that stands twice another reader takes', async () => {
    await using harness = await openControlHarness({ dialect: '{"extra":{"allow":["note"]}}' });
    const bodies: unknown[] = [];
    harness.hooks.onCall = ({ method, body }) =>
      void (method === 'POST' && bodies.push(JSON.stringify(body)));
    const twice = '{"note":{"url":"https://evil.example"},"note":"second"}';
    const command = `{"commandId":"c","type":"subscription.create","ref":"a","events":["payment_status"],"extra":${twice}}`;
    await harness.take(harness.recordOf(Buffer.from(command)));
    expect(harness.results).toMatchObject([{ status: 'SUCCEEDED' }]);
    expect(bodies).toEqual([expect.stringMatching(/"note":"second"\}$/)]);
    expect(bodies[0]).not.toContain('evil');
  });

  it.each(['no JSON', 'null', '[1]', '7'])(
    'a record of the state whose extra is %s, as others may write it, fails no command',
    async (extra) => {
      await using harness = await openControlHarness();
      await harness.run(create('a'));
      harness.state.set('a', { ...(harness.state.get('a') ?? expect.fail('no record')), extra });
      expect(await harness.run(update)).toMatchObject({ status: 'SUCCEEDED' });
    },
  );

  it('extra that was accepted is sent again where the dialect allows it no longer: a repair rests on it', async () => {
    await using harness = await openControlHarness({ dialect: '{"extra":{"allow":["note"]}}' });
    await harness.run(create('a', { extra: { note: 1 } }));
    Object.assign(harness.parts, { dialect: DEFAULT_DIALECT });
    expect(await harness.run({ ...update, extra: { note: 1 } })).toMatchObject({ status: 'SUCCEEDED' });
    expect(await harness.run({ ...update, extra: { note: 2 } })).toMatchObject({
      errorCode: 'EXTRA_CONFLICT',
    });
  });
});

it('events that an adopted subscription has may be sent again, though the dialect does not know them', async () => {
  await using harness = await openControlHarness();
  await harness.run(create('a'));
  const record = harness.state.get('a') ?? expect.fail('no record');
  harness.state.set('a', { ...record, events: ['payment-status', 'refund_status'] });
  const unknown = { status: 'REJECTED', errorCode: 'UNKNOWN_EVENT', attempts: 0 };
  expect(await harness.run({ ...update, events: ['refund_status', 'other'] })).toMatchObject(unknown);
  // This provider has no such event, but it was asked.
  expect(await harness.run({ ...update, events: ['payment-status', 'refund_status'] })).toMatchObject({
    status: 'FAILED',
    errorCode: 'PROVIDER_REFUSED',
  });
});
