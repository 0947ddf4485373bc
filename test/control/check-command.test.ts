import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
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
    ['subscription.create', { encryptionKey: 'mine' }, 'encryptionKey'],
    ['subscription.update', { url: 'https://evil.example', note: 1 }, 'url'],
    ['subscription.update', { encryptionKey: 'mine' }, 'encryptionKey'],
    ['subscription.adopt', { url: 'https://evil.example' }, 'url'],
    ['webhook.replay', { executionId: 'x' }, 'executionId'],
  ])('extra of %s may not replace what the dialect sets', async (type, extra, named) => {
    await using desk = await openControlDesk();
    const result = await desk.run({ type, ref: 'a', executionIds: ['x'], extra });
    expect(result).toMatchObject({ status: 'REJECTED', errorCode: 'EXTRA_CONFLICT', attempts: 0 });
    expect(result.message).toMatch(new RegExp(` \\(${named}\\)$`));
  });
});
