import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ReconcileDeps, reconcile, type Tries } from '../../../src/control/reconciler/reconcile.ts';
import { ReportedDrift } from '../../../src/control/reconciler/reported-drift.ts';
import type { CommandResult } from '../../../src/core/command.ts';
import { HooklineError } from '../../../src/core/errors.ts';
import { createInPart } from '../../support/adoptions.ts';
import {
  type ControlHarness,
  create,
  NEARLY_ALL_MS,
  openControlHarness,
  PUBLIC_URL,
  passTime,
} from '../../support/control-harness.ts';

const HOUR = 3_600_000;

/** The reconciler beside a harness: what it sends is carried out at once, as by the control that reads the topic. */
function reconcilerOf(harness: ControlHarness, mode: ReconcileDeps['mode'] = 'report') {
  const reported = new ReportedDrift();
  const tries: Tries = new Map();
  const drifts: CommandResult[] = [];
  const gauges: string[][] = [];
  const withheld: number[] = [];
  const unsent: string[] = [];
  const sent: { topic: string; type: string; status: string | undefined }[] = [];
  const parts: ReconcileDeps = {
    ...harness.parts,
    mode,
    reported,
    api: harness.provider.api,
    newId: randomUUID,
    confirmAfterMs: 1,
    repairMax: 5,
    async send(topic, command) {
      await harness.take(harness.recordOf(command, topic));
      sent.push({ topic, type: command.type, status: harness.results.at(-1)?.status });
    },
    onDrift(result) {
      reported.take({ ...result });
      drifts.push(result);
    },
    onUnsent: (_, ref) => unsent.push(ref),
    onWithheld: (count) => withheld.push(count),
    onCompared: (found) => gauges.push(found.map(({ kind }) => kind).sort()),
  };
  return {
    reported,
    drifts,
    gauges,
    sent,
    unsent,
    withheld,
    parts,
    look: () => reconcile(parts, tries, harness.lease),
    codes: () => drifts.map(({ errorCode, ref }) => [errorCode, ref]),
  };
}

const seedAgain = (harness: ControlHarness, id: string, more: object) =>
  harness.sandbox.call('POST', '/_sandbox/subscriptions', {
    json: { id, url: `${PUBLIC_URL}/webhooks/a`, events: ['payment_status'], ...more },
  });

async function harnessWithOne(options = {}) {
  const harness = await openControlHarness(options);
  const { subscriptionId } = await harness.run(create('a'));
  // The provider's list is never empty: that would be taken for its fault.
  await harness.run(create('beside'));
  return { harness, id: String(subscriptionId), [Symbol.asyncDispose]: () => harness[Symbol.asyncDispose]() };
}

/** What the provider has but the one that keeps its list from being empty. */
const there = async (harness: ControlHarness) =>
  (await harness.subscriptions()).filter(({ url }) => url !== `${PUBLIC_URL}/webhooks/beside`);

describe('drift', () => {
  it('is none where the provider has what the state says, in whichever spelling', async () => {
    await using one = await harnessWithOne();
    const the = reconcilerOf(one.harness);
    await the.look();
    expect([the.drifts, the.gauges]).toEqual([[], [[]]]);
  });

  it.each([
    [
      'missing',
      'SUBSCRIPTION_MISSING',
      async (harness: ControlHarness, id: string) =>
        harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${id}`),
      'no longer lists',
    ],
    [
      'changed',
      'SUBSCRIPTION_CHANGED',
      (harness: ControlHarness, id: string) => seedAgain(harness, id, { events: ['collection-status'] }),
      'its events are collection-status instead of payment-status',
    ],
    [
      'changed',
      'SUBSCRIPTION_CHANGED',
      (harness: ControlHarness, id: string) => seedAgain(harness, id, { url: 'http://127.0.0.1:9/x' }),
      'its address is http://127.0.0.1:9/x instead of',
    ],
  ] as const)('is %s: %s, told once, and told when it has ended', async (kind, code, change, words) => {
    await using one = await harnessWithOne();
    const the = reconcilerOf(one.harness);
    await change(one.harness, one.id);
    for (let n = 0; n < 3; n++) await the.look();
    expect(the.drifts).toMatchObject([
      { status: 'DRIFT', type: 'reconcile', errorCode: code, ref: 'a', subscriptionId: one.id },
    ]);
    expect(the.drifts[0]?.message).toContain(words);
    expect(the.gauges.at(-1)).toEqual([kind]);
    await seedAgain(one.harness, one.id, {});
    await the.look();
    await the.look();
    expect(the.codes()).toEqual([
      [code, 'a'],
      [null, 'a'],
    ]);
    expect(the.gauges.at(-1)).toEqual([]);
  });

  it('is told once, and its end once, also where the clock is set back, or another process has one that is behind', async () => {
    await using one = await harnessWithOne();
    const the = reconcilerOf(one.harness);
    const { clock } = the.parts;
    let behindMs = 0;
    Object.assign(the.parts, { clock: { ...clock, wall: () => clock.wall() - behindMs } });
    await seedAgain(one.harness, one.id, { events: ['collection-status'] });
    await the.look();
    behindMs = HOUR;
    await seedAgain(one.harness, one.id, {});
    for (let n = 0; n < 3; n++) await the.look();
    behindMs = 2 * HOUR;
    await seedAgain(one.harness, one.id, { events: ['collection-status'] });
    for (let n = 0; n < 3; n++) await the.look();
    expect(the.codes().map(([code]) => code)).toEqual(['SUBSCRIPTION_CHANGED', null, 'SUBSCRIPTION_CHANGED']);
    // As another process reads them, in whatever order.
    const read = new ReportedDrift();
    for (const result of the.drifts.toReversed()) read.take({ ...result });
    expect(read.of('ref a')?.message).toBe(the.drifts.at(-1)?.message);
  });

  it('that changes again is told again', async () => {
    await using one = await harnessWithOne();
    const the = reconcilerOf(one.harness);
    for (const events of [['collection-status'], ['accounts-entries']]) {
      await seedAgain(one.harness, one.id, { events });
      await the.look();
    }
    expect(the.drifts.map(({ message }) => message)).toEqual([
      expect.stringContaining('collection-status instead'),
      expect.stringContaining('accounts-entries instead'),
    ]);
  });

  it('is told again of a subscription that was created anew and is lost again before the next look', async () => {
    await using one = await harnessWithOne();
    const the = reconcilerOf(one.harness, 'repair');
    await one.harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${one.id}`);
    await the.look();
    const second = String(one.harness.state.get('a')?.subscriptionId);
    expect(second).not.toBe(one.id);
    await one.harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${second}`);
    await the.look();
    expect(the.drifts.map(({ errorCode, subscriptionId }) => [errorCode, subscriptionId])).toEqual([
      ['SUBSCRIPTION_MISSING', one.id],
      ['SUBSCRIPTION_MISSING', second],
    ]);
  });

  it('is told once by however many processes: what the topic holds of it is known', async () => {
    await using one = await harnessWithOne();
    const first = reconcilerOf(one.harness);
    const second = reconcilerOf(one.harness);
    await seedAgain(one.harness, one.id, { events: ['collection-status'] });
    await first.look();
    for (const result of one.harness.results.filter(({ status }) => status === 'DRIFT'))
      second.reported.take({ ...result });
    await second.look();
    expect([first.drifts.length, second.drifts.length]).toEqual([1, 0]);
  });

  it('is told once where its text is cut within a character', async () => {
    await using one = await harnessWithOne();
    const the = reconcilerOf(one.harness);
    await one.harness.seed({ url: `https://x.example/${'y'.repeat(481)}\u{1f600}/hook` });
    await the.look();
    expect(the.drifts.map(({ message }) => message?.isWellFormed())).toEqual([true]);
  });

  it('is told in a record that fits, however long what the list says', async () => {
    await using one = await harnessWithOne();
    const the = reconcilerOf(one.harness);
    await one.harness.seed({ url: `https://x.example/${'y'.repeat(100_000)}` });
    await the.look();
    await the.look();
    expect(the.drifts.map(({ message }) => message?.length)).toEqual([expect.closeTo(600, -2)]);
  });

  it('is disabled where the list says so', async () => {
    await using one = await harnessWithOne();
    const the = reconcilerOf(one.harness);
    await one.harness.sandbox.fail({
      operation: 'list',
      kind: 'alter',
      set: { '/0/active': false },
      times: null,
    });
    await the.look();
    expect(the.codes()).toEqual([['SUBSCRIPTION_DISABLED', 'a']]);
  });

  it('is not what one look alone has seen: a command may have been under way', async () => {
    await using one = await harnessWithOne();
    const the = reconcilerOf(one.harness);
    await one.harness.sandbox.fail({
      operation: 'list',
      kind: 'alter',
      set: { '/0/id': randomUUID() },
      times: 1,
    });
    await the.look();
    expect([the.drifts, the.gauges]).toEqual([[], [[]]]);
  });

  it('has not ended because its ref is changed while the list is made', async () => {
    await using one = await harnessWithOne();
    const { harness } = one;
    const the = reconcilerOf(harness);
    await seedAgain(harness, one.id, { events: ['collection-status'] });
    await the.look();
    const { list } = the.parts.api;
    const api = {
      async list() {
        const outcome = await list();
        harness.state.set('a', { ...(harness.state.get('a') ?? expect.fail('no record')) });
        return outcome;
      },
    };
    await reconcile({ ...the.parts, api }, new Map(), harness.lease);
    expect(the.codes()).toEqual([['SUBSCRIPTION_CHANGED', 'a']]);
  });

  it('is not known where the list can not be had: nothing is told and nothing ends', async () => {
    await using one = await harnessWithOne();
    const the = reconcilerOf(one.harness, 'repair');
    await one.harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${one.id}`);
    await the.look();
    const told = the.drifts.length;
    for (const fault of [{ kind: 'status', code: 503 }, { kind: 'html-200' }, { kind: 'malformed-json' }]) {
      await one.harness.sandbox.fail({ operation: 'list', times: 1, ...fault });
      await expect(the.look()).rejects.toMatchObject({ code: expect.stringContaining('PROVIDER_') });
    }
    expect(the.drifts).toHaveLength(told);
  });

  it('is none where the list is empty: that is a fault of the provider', async () => {
    await using one = await harnessWithOne();
    const the = reconcilerOf(one.harness, 'repair');
    await one.harness.sandbox.fail({ operation: 'list', kind: 'status', code: 200, body: [], times: 1 });
    await expect(the.look()).rejects.toMatchObject({
      code: 'PROVIDER_ANSWER_INVALID',
      message: expect.stringContaining('empty, and the state has 2 active'),
    });
    expect([the.drifts, the.sent, the.gauges]).toEqual([[], [], []]);
    await the.look();
    expect(the.gauges).toEqual([[]]);
  });

  it('is none where the list is empty, and what the provider has lost is being created anew', async () => {
    await using one = await harnessWithOne();
    const { harness } = one;
    const the = reconcilerOf(harness, 'repair');
    await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${one.id}`);
    await createInPart(harness, { ifMatch: harness.state.get('a')?.commandId });
    await harness.run({ type: 'subscription.delete', ref: 'beside' });
    await harness.sandbox.fail({ operation: 'list', kind: 'status', code: 200, body: [], times: 1 });
    await expect(the.look()).rejects.toMatchObject({ code: 'PROVIDER_ANSWER_INVALID' });
    expect([the.drifts, the.sent]).toEqual([[], []]);
  });

  it('is none of an empty list where nothing is active', async () => {
    await using harness = await openControlHarness();
    const the = reconcilerOf(harness, 'repair');
    await the.look();
    expect(the.gauges).toEqual([[]]);
  });
});

describe('under RECONCILE=repair', () => {
  it('as many as RECONCILE_REPAIR_MAX are repaired at one look, and of more none', async () => {
    await using one = await harnessWithOne();
    const { harness } = one;
    for (const ref of ['b', 'c']) await harness.run(create(ref));
    const the = reconcilerOf(harness, 'repair');
    const lost = ['a', 'b', 'c'].map((ref) => harness.state.get(ref)?.subscriptionId);
    for (const id of lost) await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${id}`);
    await harness.seed();
    const look = (repairMax: number) => reconcile({ ...the.parts, repairMax }, new Map(), harness.lease);
    await look(2);
    expect([the.sent, the.withheld, the.drifts.length]).toEqual([[], [3], 4]);
    await look(3);
    expect([the.sent.length, the.withheld]).toEqual([3, [3, 0]]);
    await look(3);
    expect((await there(harness)).length).toBe(4);
  });

  it('of a creation anew that came to no end, the events that it asked for are created', async () => {
    await using one = await harnessWithOne();
    const { harness } = one;
    const the = reconcilerOf(harness, 'repair');
    await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${one.id}`);
    const ifMatch = harness.state.get('a')?.commandId;
    await createInPart(harness, { ifMatch, events: ['accounts-entries'] });
    expect(harness.state.get('a')).toMatchObject({ state: 'REQUESTED', events: ['accounts-entries'] });
    await the.look();
    expect(the.sent).toMatchObject([{ type: 'subscription.create', status: 'SUCCEEDED' }]);
    expect(await there(harness)).toMatchObject([{ events: ['accounts-entries'] }]);
    expect(harness.state.get('a')).toMatchObject({ state: 'ACTIVE', events: ['accounts-entries'] });
  });

  it('what is missing is created anew, and its old keys stay for deliveries under way', async () => {
    await using one = await harnessWithOne();
    const { harness } = one;
    const the = reconcilerOf(harness, 'repair');
    const before = harness.secretsOf('a');
    await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${one.id}`);
    await the.look();
    await the.look();
    expect(the.sent).toMatchObject([{ type: 'subscription.create', status: 'SUCCEEDED' }]);
    const [made, ...more] = await there(harness);
    expect([more, made?.events, made?.url]).toEqual([[], ['payment-status'], `${PUBLIC_URL}/webhooks/a`]);
    expect(harness.state.get('a')).toMatchObject({ state: 'ACTIVE', subscriptionId: made?.id });
    expect(harness.secretsOf('a')?.previous).toMatchObject([{ signingSecret: before?.signingSecret }]);
    expect(the.codes()).toEqual([
      ['SUBSCRIPTION_MISSING', 'a'],
      [null, 'a'],
    ]);
  });

  it.each([
    ['is refused', [{ operation: 'create', kind: 'status', code: 422 }], 'ACTIVE'],
    ['may have had its effect', [{ operation: 'create', kind: 'hang', effect: true }], 'REQUESTED'],
  ] as const)(
    'what is missing is missing until it is there, also where its creation %s',
    async (_, faults, state) => {
      await using one = await harnessWithOne({ deadlineMs: 1_000 });
      const { harness } = one;
      const the = reconcilerOf(harness, 'repair');
      const before = harness.secretsOf('a');
      await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${one.id}`);
      await harness.sandbox.fail(...faults);
      await the.look();
      expect(the.sent).toMatchObject([{ type: 'subscription.create', status: 'FAILED' }]);
      expect(harness.state.get('a')).toMatchObject({ state });
      await the.look();
      expect(the.sent.at(-1)).toMatchObject({ type: 'subscription.create', status: 'SUCCEEDED' });
      await the.look();
      expect(await there(harness)).toMatchObject([{ id: harness.state.get('a')?.subscriptionId }]);
      expect(harness.secretsOf('a')?.previous).toEqual([
        { ...before, subscriptionId: one.id, retiredAt: expect.any(Number) },
      ]);
      expect(the.codes()).toEqual([
        ['SUBSCRIPTION_MISSING', 'a'],
        [null, 'a'],
      ]);
    },
  );

  it('what a team has sent beside the events is sent again', async () => {
    await using harness = await openControlHarness({ dialect: '{"extra":{"allow":["note"]}}' });
    const note = { note: { team: 'ledger' } };
    await harness.run(create('beside'));
    await harness.run(create('a', { extra: note }));
    await harness.run({ type: 'subscription.update', ref: 'a', events: ['accounts-entries'] });
    const id = String(harness.state.get('a')?.subscriptionId);
    const the = reconcilerOf(harness, 'repair');
    await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${id}`);
    await the.look();
    expect(await there(harness)).toMatchObject([{ events: ['accounts-entries'], extra: note }]);
    const bodies: unknown[] = [];
    harness.hooks.onCall = ({ method, body }) => void (method === 'PUT' && bodies.push(body));
    await seedAgain(harness, String(harness.state.get('a')?.subscriptionId), { events: ['payment_status'] });
    await the.look();
    await the.look();
    expect(bodies).toMatchObject([{ events: ['accounts-entries'], ...note }]);
  });

  it('of what was accepted by an older rule, what sets the address is left out, and the rest is sent again', async () => {
    await using harness = await openControlHarness({ dialect: '{"extra":{"allow":["note"]}}' });
    await harness.run(create('beside'));
    await harness.run(create('a', { extra: { note: 1 } }));
    const before = harness.state.get('a') ?? expect.fail('no record');
    harness.state.set('a', { ...before, extra: '{"URL":"https://evil.example","note":1}' });
    const the = reconcilerOf(harness, 'repair');
    await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${before.subscriptionId}`);
    await the.look();
    expect(the.sent.map(({ status }) => status)).toEqual(['SUCCEEDED']);
    expect(await there(harness)).toMatchObject([{ url: before.receiverUrl, extra: { note: 1 } }]);
  });

  it('a record whose extra is no JSON, as others may write it, is repaired without it', async () => {
    await using harness = await openControlHarness({});
    await harness.run(create('beside'));
    await harness.run(create('a'));
    const before = harness.state.get('a') ?? expect.fail('no record');
    harness.state.set('a', { ...before, extra: 'no JSON' });
    const the = reconcilerOf(harness, 'repair');
    await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${before.subscriptionId}`);
    await the.look();
    expect(the.sent.map(({ status }) => status)).toEqual(['SUCCEEDED']);
  });

  it('a subscription whose adoption came to no end is reported, and not moved here', async () => {
    await using harness = await openControlHarness();
    const { id, url, signingSecret } = await harness.seed();
    harness.fixture.secrets('a', { 'subscription-id': id, 'signing-secret': signingSecret });
    passTime(harness, 'PUT', NEARLY_ALL_MS);
    await harness.sandbox.fail(
      { operation: 'update', kind: 'status', code: 503 },
      { operation: 'list', kind: 'alter', set: {} },
      { operation: 'list', kind: 'status', code: 403 },
    );
    const adopt = { type: 'subscription.adopt', ref: 'a' };
    expect(await harness.run(adopt)).toMatchObject({ errorCode: 'PROVIDER_UNAVAILABLE' });
    const the = reconcilerOf(harness, 'repair');
    await the.look();
    expect([the.sent, the.codes()]).toEqual([[], [['SUBSCRIPTION_CHANGED', 'a']]]);
    expect(await there(harness)).toMatchObject([{ id, url }]);
    // Nor does it count for RECONCILE_REPAIR_MAX.
    await harness.run(create('b'));
    await harness.run(create('beside'));
    const gone = harness.state.get('b')?.subscriptionId;
    await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${gone}`);
    await reconcile({ ...the.parts, repairMax: 1 }, new Map(), harness.lease);
    expect(the.sent.map(({ type }) => type)).toEqual(['subscription.create']);
    // The next command for it ends the doubt.
    expect(await harness.run(adopt)).toMatchObject({ status: 'SUCCEEDED' });
    expect(harness.state.get('a')?.replaced).toBeNull();
  });

  it('what was changed is told again what it should be; what is foreign is not touched', async () => {
    await using one = await harnessWithOne();
    const { harness } = one;
    const foreign = await harness.seed();
    const the = reconcilerOf(harness, 'repair');
    await seedAgain(harness, one.id, { url: 'http://127.0.0.1:9/x', events: ['collection-status'] });
    await the.look();
    await the.look();
    expect(the.sent.map(({ type }) => type)).toEqual(['subscription.update']);
    expect(await there(harness)).toMatchObject([
      { id: one.id, url: `${PUBLIC_URL}/webhooks/a`, events: ['payment-status'] },
      { id: foreign.id, url: foreign.url },
    ]);
    expect(the.codes()).toEqual([
      ['SUBSCRIPTION_CHANGED', 'a'],
      ['SUBSCRIPTION_FOREIGN', null],
      [null, 'a'],
    ]);
  });

  it('is stray what a creation has left that came to no end, once its call cannot be under way any more', async () => {
    await using harness = await openControlHarness();
    const the = reconcilerOf(harness, 'repair');
    await harness.run(create('beside'));
    await createInPart(harness);
    await the.look();
    expect([the.codes(), (await harness.run({ type: 'subscription.list' })).drift]).toEqual([[], []]);
    const intent = harness.state.get('a') ?? expect.fail('no intent');
    harness.state.set('a', { ...intent, updatedAt: Date.now() - HOUR });
    await the.look();
    expect([the.codes(), the.gauges.at(-1)]).toEqual([[['SUBSCRIPTION_FOREIGN', null]], ['stray']]);
    expect((await harness.run({ type: 'subscription.list' })).drift).toMatchObject([
      { ref: null, errorCode: 'SUBSCRIPTION_FOREIGN' },
    ]);
    // Nobody knows its secret: the next creation, or deletion, of the ref removes it, and the drift ends.
    expect([the.sent, await harness.run(create('a'))]).toMatchObject([[], { status: 'SUCCEEDED' }]);
    await the.look();
    expect(the.codes().at(-1)).toEqual([null, null]);
    expect(await harness.subscriptions()).toHaveLength(2);
  });

  it('is foreign, and stray, what delivers to an address of ours and is no ref’s, unless files name it', async () => {
    await using one = await harnessWithOne();
    const { harness } = one;
    const stray = await harness.seed({ url: `${PUBLIC_URL}/webhooks/a` });
    const the = reconcilerOf(harness, 'repair');
    await the.look();
    expect([the.codes(), the.gauges.at(-1)]).toEqual([[['SUBSCRIPTION_FOREIGN', null]], ['stray']]);
    harness.fixture.secrets('a', { 'subscription-id': stray.id });
    await the.look();
    expect([the.codes(), the.gauges.at(-1)]).toEqual([[['SUBSCRIPTION_FOREIGN', null]], ['foreign']]);
    expect(await there(harness)).toHaveLength(2);
  });

  it('is not what a team has asked for in the meantime undone', async () => {
    await using one = await harnessWithOne();
    const { harness } = one;
    const the = reconcilerOf(harness, 'repair');
    await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${one.id}`);
    const send = the.parts.send;
    const commands: [string, Parameters<typeof send>[1]][] = [];
    await reconcile(
      { ...the.parts, send: async (...sent) => void commands.push(sent) },
      new Map(),
      harness.lease,
    );
    await harness.run({ type: 'subscription.delete', ref: 'a' });
    for (const [topic, command] of commands) await send(topic, command);
    expect(the.sent.map(({ status }) => status)).toEqual(['REJECTED']);
    expect(harness.results.at(-1)).toMatchObject({ errorCode: 'PRECONDITION_FAILED' });
    expect(await there(harness)).toEqual([]);
  });

  it('what can not be sent for one ref holds up no other', async () => {
    await using one = await harnessWithOne();
    const { harness } = one;
    const { subscriptionId } = await harness.run(create('b'));
    const the = reconcilerOf(harness, 'repair');
    const { send } = the.parts;
    for (const id of [one.id, subscriptionId]) {
      await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${id}`);
    }
    const only: typeof send = async (topic, command) => {
      if (command.ref === 'a') throw new HooklineError('NOT_OWNER');
      await send(topic, command);
    };
    await reconcile({ ...the.parts, send: only }, new Map(), harness.lease);
    expect([the.unsent, the.sent.map(({ type }) => type)]).toEqual([['a'], ['subscription.create']]);
  });

  it('what the provider undoes each time is repaired at the 1st, 2nd, 4th, 8th, 16th, 32nd, 48th look', async () => {
    await using one = await harnessWithOne();
    const the = reconcilerOf(one.harness, 'repair');
    await one.harness.sandbox.fail({
      operation: 'list',
      kind: 'alter',
      set: { '/0/events': [] },
      times: null,
    });
    const sent: number[] = [];
    for (let n = 1; n < 64; n++) {
      const before = the.sent.length;
      await the.look();
      if (the.sent.length > before) sent.push(n);
    }
    expect(sent).toEqual([1, 2, 4, 8, 16, 32, 48]);
    expect(the.drifts).toHaveLength(1);
  });
});

describe('what the provider does not let repair', () => {
  it('is tried at the same pauses where its own repair is under way while the list is made', async () => {
    const queue: (() => Promise<void>)[] = [];
    await using one = await harnessWithOne();
    const { harness } = one;
    await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${one.id}`);
    const the = reconcilerOf(harness, 'repair');
    const at: number[] = [];
    let looks = 0;
    const parts: ReconcileDeps = {
      ...the.parts,
      api: {
        async list() {
          const list = await harness.provider.api.list();
          for (const carryOut of queue.splice(0)) await carryOut();
          return list;
        },
      },
      async send(...sent) {
        at.push(looks);
        queue.push(async () => {
          await harness.sandbox.fail({ operation: 'create', kind: 'status', code: 422 });
          await the.parts.send(...sent);
        });
      },
    };
    const tries: Tries = new Map();
    for (looks = 1; looks <= 30; looks++) await reconcile(parts, tries, harness.lease);
    expect(at.length).toBeLessThan(8);
  });

  it.each([
    ['are carried out', 201],
    ['are refused', 422],
  ])('grows no further than RECONCILE_REPAIR_MAX where a list is cut, and repairs %s', async (_, code) => {
    await using harness = await openControlHarness();
    await harness.run(create('beside'));
    const the = reconcilerOf(harness, 'repair');
    const refs: string[] = [];
    const shown = new Set((await harness.subscriptions()).map(({ id }) => id));
    const cut = (await harness.subscriptions()).filter(({ id }) => shown.has(id));
    const parts: ReconcileDeps = {
      ...the.parts,
      repairMax: 2,
      api: {
        async list() {
          const list = await harness.provider.api.list();
          return { ...list, items: list.items?.filter(({ id }) => shown.has(id)) };
        },
      } as ReconcileDeps['api'],
      async send(...sent) {
        refs.push(sent[1].ref);
        // Control sees the same list.
        await harness.sandbox.fail(
          { operation: 'list', kind: 'status', code: 200, body: cut, times: 2 },
          ...(code === 201 ? [] : [{ operation: 'create', kind: 'status', code } as const]),
        );
        await the.parts.send(...sent);
      },
    };
    const tries: Tries = new Map();
    for (let n = 0; n < 10; n++) {
      await harness.run(create(`r${n}`));
      await reconcile(parts, tries, harness.lease);
    }
    expect(the.withheld.slice(0, 5)).toEqual([0, 0, 3, 4, 5]);
    expect(new Set(refs)).toEqual(new Set(['r0', 'r1']));
  });
});

describe('a deleted subscription', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each(['off', 'report', 'repair'] as const)(
    'is forgotten when its keys are no longer live (%s)',
    async (mode) => {
      await using one = await harnessWithOne({ retiredKeysTtlMs: HOUR });
      const { harness } = one;
      const the = reconcilerOf(harness, mode);
      await harness.run({ type: 'subscription.delete', ref: 'a' });
      await the.look();
      expect(harness.state.get('a')).toMatchObject({ state: 'RETIRED' });
      vi.setSystemTime(Date.now() + HOUR + 1);
      await the.look();
      expect(the.sent).toMatchObject([{ type: 'subscription.delete', status: 'SUCCEEDED' }]);
      expect(harness.state.has('a')).toBe(false);
      expect(harness.written.at(-1)).toBeNull();
      await the.look();
      expect(the.sent).toHaveLength(1);
    },
  );

  it('is not forgotten where the ref was taken into use again meanwhile', async () => {
    await using one = await harnessWithOne({ retiredKeysTtlMs: HOUR });
    const { harness } = one;
    const the = reconcilerOf(harness, 'off');
    await harness.run({ type: 'subscription.delete', ref: 'a' });
    vi.setSystemTime(Date.now() + HOUR + 1);
    const commands: Parameters<typeof the.parts.send>[] = [];
    await reconcile(
      { ...the.parts, send: async (...sent) => void commands.push(sent) },
      new Map(),
      harness.lease,
    );
    await harness.run(create('a'));
    for (const sent of commands) await the.parts.send(...sent);
    expect(the.sent).toMatchObject([{ status: 'REJECTED' }]);
    expect(harness.state.get('a')).toMatchObject({ state: 'ACTIVE' });
  });
});
