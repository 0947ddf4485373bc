import { describe, expect, it } from 'vitest';
import { COMMAND_TYPES } from '../../src/core/command.ts';
import { create, openControlHarness } from '../support/control-harness.ts';

const EVENTS = ['accounts-entries'];

/** A harness with a subscription `a`, one that can be adopted as `b`, and a run that can be replayed. */
async function harnessWithAll() {
  const harness = await openControlHarness();
  await harness.run(create('a'));
  const { id, signingSecret } = await harness.seed();
  harness.fixture.secrets('b', { 'subscription-id': id, 'signing-secret': signingSecret });
  return harness;
}

const refs: Readonly<Record<string, string>> = {
  'subscription.create': 'c',
  'subscription.adopt': 'b',
  'subscription.list': '',
};

describe('a dry run', () => {
  it.each(COMMAND_TYPES)('of %s asks at most, and changes nothing', async (type) => {
    await using harness = await harnessWithAll();
    const before = [await harness.subscriptions(), [...harness.state], harness.written.length];
    const asked: string[] = [];
    harness.hooks.onCall = ({ method }) => asked.push(method);
    const ref = refs[type] ?? 'a';
    const command = { type, ...(ref && { ref }), events: EVENTS, executionIds: ['x'], dryRun: true };
    const result = await harness.run(command);
    expect(result).toMatchObject({ status: 'SUCCEEDED', dryRun: true });
    expect(asked.filter((method) => method !== 'GET')).toEqual([]);
    expect([await harness.subscriptions(), [...harness.state], harness.written.length]).toEqual(before);
  });

  it('is REJECTED for the same reasons as the command itself', async () => {
    await using harness = await harnessWithAll();
    await harness.seed({ url: 'https://hooks.example/webhooks/taken' });
    harness.fixture.secrets('faulty', { 'encryption-key': 'short' });
    const commands = [
      create('a'),
      create('taken'),
      create('faulty'),
      { type: 'subscription.update', ref: 'nobody' },
      { type: 'subscription.update', ref: 'a', extra: { url: 'https://evil.example' } },
      { type: 'subscription.adopt', ref: 'keyless' },
      { type: 'subscription.delete', ref: 'a', ifMatch: 'another' },
      { type: 'webhook.replay', ref: 'nobody', executionIds: ['x'] },
    ];
    const codes = async (more: object) => {
      const found: (string | null)[] = [];
      for (const command of commands) found.push((await harness.run({ ...command, ...more })).errorCode);
      return found;
    };
    const rehearsed = await codes({ dryRun: true });
    expect(rehearsed).toEqual(await codes({}));
    expect(rehearsed).toEqual([
      ...['REF_IN_USE', 'URL_IN_USE', 'KEYS_INVALID', 'UNKNOWN_REF', 'EXTRA_CONFLICT', 'KEYS_MISSING'],
      ...['PRECONDITION_FAILED', 'UNKNOWN_REF'],
    ]);
  });
});
