import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DEFAULT_DIALECT } from '../../src/provider/dialect.ts';
import { create, openControlDesk } from '../support/control-desk.ts';

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
    await using desk = await openControlDesk();
    const soon = { expiresAt: Date.now() + 1_000 };
    expect(await desk.run(create('a', soon))).toMatchObject({ status: 'SUCCEEDED' });
    vi.setSystemTime(Date.now() + 1_001);
    expect(await desk.run(create('b', soon))).toMatchObject({
      status: 'EXPIRED',
      errorCode: 'COMMAND_EXPIRED',
      attempts: 0,
    });
  });

  it('its owner is looked at: a ref belongs to the topic that created it, until the keys of the deleted are dead', async () => {
    await using desk = await openControlDesk({ retiredKeysTtlMs: 10_000 });
    await desk.run(create('a'));
    const foreign = { status: 'REJECTED', errorCode: 'NOT_OWNER', attempts: 0 };
    expect(await desk.run(update, OTHER)).toMatchObject(foreign);
    expect(await desk.run({ type: 'subscription.delete', ref: 'a' }, OTHER)).toMatchObject(foreign);
    await desk.run({ type: 'subscription.delete', ref: 'a' });
    expect(await desk.run(create('a'), OTHER)).toMatchObject(foreign);
    vi.setSystemTime(Date.now() + 10_001);
    expect(await desk.run(create('a'), OTHER)).toMatchObject({ status: 'SUCCEEDED' });
    expect(desk.state.get('a')?.owner).toBe(OTHER);
    expect(desk.secretsOf('a')).not.toHaveProperty('previous');
  });

  it.each([
    ...['subscription.create', 'subscription.update', 'subscription.delete', 'subscription.adopt'],
    ...['subscription.list', 'webhook.replay'],
  ])('its ref has to match a pattern of its topic, of %s too', async (type) => {
    await using desk = await openControlDesk({ refPatterns: { [OTHER]: ['ledger-*', 'gl'] } });
    const result = await desk.run({ type, ref: 'ledger', executionIds: ['x'], dryRun: true }, OTHER);
    expect(result).toMatchObject({ status: 'REJECTED', errorCode: 'NOT_OWNER', attempts: 0 });
    expect(result.message).toContain(`(${OTHER} takes refs that match ledger-* or gl)`);
  });

  it('its pattern gives no ref that another topic has created: the first creator owns', async () => {
    await using desk = await openControlDesk({ refPatterns: { [OTHER]: ['a*'] } });
    expect(await desk.run(create('aa'), OTHER)).toMatchObject({ status: 'SUCCEEDED' });
    expect(await desk.run(create('ab'))).toMatchObject({ status: 'SUCCEEDED' });
    expect(await desk.run({ ...update, ref: 'ab' }, OTHER)).toMatchObject({ errorCode: 'NOT_OWNER' });
    expect(await desk.run({ ...update, ref: 'aa' })).toMatchObject({ errorCode: 'NOT_OWNER' });
  });

  it('a ref that is not its topic’s is not spoken of, whatever ifMatch says', async () => {
    await using desk = await openControlDesk();
    const { commandId } = await desk.run(create('a'));
    const result = await desk.run({ ...update, ifMatch: 'x' }, OTHER);
    expect(result).toMatchObject({ errorCode: 'NOT_OWNER' });
    expect(result.message).not.toContain(commandId);
  });

  it.each(['subscription.create', 'subscription.update', 'subscription.adopt'])(
    'an unknown event of %s is named, with those that are known',
    async (type) => {
      await using desk = await openControlDesk();
      const result = await desk.run({ type, ref: 'a', events: ['payment_status', 'constructor'] });
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
    await using desk = await openControlDesk({ dialect: '{"extra":{"allow":["note"]}}' });
    const result = await desk.run({ type, ref: 'a', executionIds: ['x'], extra });
    expect(result).toMatchObject({ status: 'REJECTED', errorCode: 'EXTRA_CONFLICT', attempts: 0 });
    expect(result.message).toContain(`(${told}`);
    expect(result.message).toMatch(/: leave it out, or have the operator name the field in .*extra\.allow$/);
  });

  it('extra is sent as it was checked, whichever member of a name that stands twice another reader takes', async () => {
    await using desk = await openControlDesk({ dialect: '{"extra":{"allow":["note"]}}' });
    const bodies: unknown[] = [];
    desk.hooks.onCall = ({ method, body }) => void (method === 'POST' && bodies.push(JSON.stringify(body)));
    const twice = '{"note":{"url":"https://evil.example"},"note":"second"}';
    const command = `{"commandId":"c","type":"subscription.create","ref":"a","events":["payment_status"],"extra":${twice}}`;
    await desk.take(desk.recordOf(Buffer.from(command)));
    expect(desk.results).toMatchObject([{ status: 'SUCCEEDED' }]);
    expect(bodies).toEqual([expect.stringMatching(/"note":"second"\}$/)]);
    expect(bodies[0]).not.toContain('evil');
  });

  it.each(['no JSON', 'null', '[1]', '7'])(
    'a record of the state whose extra is %s, as others may write it, fails no command',
    async (extra) => {
      await using desk = await openControlDesk();
      await desk.run(create('a'));
      desk.state.set('a', { ...(desk.state.get('a') ?? expect.fail('no record')), extra });
      expect(await desk.run(update)).toMatchObject({ status: 'SUCCEEDED' });
    },
  );

  it('extra that was accepted is sent again where the dialect allows it no longer: a repair rests on it', async () => {
    await using desk = await openControlDesk({ dialect: '{"extra":{"allow":["note"]}}' });
    await desk.run(create('a', { extra: { note: 1 } }));
    Object.assign(desk.parts, { dialect: DEFAULT_DIALECT });
    expect(await desk.run({ ...update, extra: { note: 1 } })).toMatchObject({ status: 'SUCCEEDED' });
    expect(await desk.run({ ...update, extra: { note: 2 } })).toMatchObject({ errorCode: 'EXTRA_CONFLICT' });
  });
});
