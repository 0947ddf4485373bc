import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HooklineError } from '../../src/core/errors.ts';
import { leaseOf } from '../../src/core/lease.ts';
import { createInPart } from '../support/adoptions.ts';
import {
  type ControlHarness,
  create,
  killed,
  openControlHarness,
  PUBLIC_URL,
} from '../support/control-harness.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const HOUR = 3_600_000;

/** What the state takes for active, and what the provider has for our addresses. */
async function bothEnds(harness: ControlHarness) {
  const known = [...harness.state.values()].filter(({ state }) => state === 'ACTIVE');
  const there = (await harness.subscriptions()).filter(({ url }) =>
    url.startsWith(`${PUBLIC_URL}/webhooks/`),
  );
  return {
    known: known.map(({ subscriptionId, receiverUrl, events }) => [
      subscriptionId,
      receiverUrl,
      events.length,
    ]),
    there: there.map(({ id, url, events }) => [id, url, events.length]),
  };
}

const BEFORE: Record<string, (harness: ControlHarness) => Promise<unknown>> = {
  create: async () => {},
  update: (harness) => harness.run(create('a')),
  delete: (harness) => harness.run(create('a')),
  adopt: async (harness) => {
    const { id, signingSecret } = await harness.seed();
    harness.fixture.secrets('a', { 'subscription-id': id, 'signing-secret': signingSecret });
  },
};
const EVENTS = { create: ['payment_status'], update: ['payment_status', 'accounts-entries'] };

/** Takes a command whose process is killed right before its result. */
async function takeWithoutResult(
  harness: ControlHarness,
  record: Parameters<ControlHarness['take']>[0],
): Promise<void> {
  harness.hooks.onWrite = (what) => {
    if (what === 'result') throw killed();
  };
  await expect(harness.take(record)).rejects.toThrow();
  delete harness.hooks.onWrite;
}

describe('a command whose process is killed, taken up an hour after its time', () => {
  const cases = (['create', 'update', 'delete', 'adopt'] as const).flatMap((verb) =>
    [1, 2, 3].map((n) => [verb, n] as const),
  );

  it.each(cases)('%s, before write %i: has one result, which is what is so at both ends', async (verb, n) => {
    await using harness = await openControlHarness({ retiredKeysTtlMs: 10 * HOUR });
    await BEFORE[verb]?.(harness);
    const before = await bothEnds(harness);
    const events = (EVENTS as Record<string, string[]>)[verb];
    const command = { commandId: 'c-1', type: `subscription.${verb}`, ref: 'a', ...(events && { events }) };
    const record = harness.recordOf({ ...command, expiresAt: Date.now() + 1_000 });
    let writes = 0;
    harness.hooks.onWrite = () => {
      if (++writes === n) throw killed();
    };
    await expect(harness.take(record)).rejects.toMatchObject({ code: 'PUBLISHER_CLOSED' });
    vi.setSystemTime(Date.now() + HOUR);
    await harness.take(record);
    const results = harness.results.filter(({ commandId }) => commandId === 'c-1');
    // Before its first write it has not begun: nobody has heard of it.
    expect(results.map(({ status }) => status)).toEqual([n === 1 ? 'EXPIRED' : 'SUCCEEDED']);
    const after = await bothEnds(harness);
    expect(after.known).toEqual(after.there);
    if (n === 1) expect(after).toEqual(before);
    else if (verb === 'delete') expect(after.there).toEqual([]);
    else
      expect(after.there).toMatchObject([
        [expect.any(String), `${PUBLIC_URL}/webhooks/a`, events?.length ?? 1],
      ]);
  });

  it.each([
    ['a creation that came to no end', createInPart],
    [
      'a ref whose keys are dead',
      async (harness: ControlHarness) => {
        await harness.run(create('a'));
        await harness.run({ type: 'subscription.delete', ref: 'a' });
        vi.setSystemTime(Date.now() + 2 * HOUR);
      },
    ],
  ])('the deletion of %s, killed before its result: has done what it says', async (_, begin) => {
    await using harness = await openControlHarness({ retiredKeysTtlMs: HOUR });
    await begin(harness);
    const expiresAt = Date.now() + 1_000;
    const record = harness.recordOf({ commandId: 'd-1', type: 'subscription.delete', ref: 'a', expiresAt });
    await takeWithoutResult(harness, record);
    expect([harness.state.size, await harness.subscriptions()]).toEqual([0, []]);
    vi.setSystemTime(Date.now() + HOUR);
    await harness.take(record);
    expect(harness.results.at(-1)).toMatchObject({ commandId: 'd-1', status: 'SUCCEEDED' });
  });

  it('a replay that has an expiry changes nothing that another command matches by', async () => {
    await using harness = await openControlHarness({ publicUrl: 'http://127.0.0.1:9' });
    await harness.run(create('a'));
    const { commandId } = harness.results.at(-1) as { commandId: string };
    const { json } = await harness.sandbox.trigger({ ref: 'a', count: 1, wait: 'first' });
    const [{ id }] = json.executions;
    const expiresAt = Date.now() + HOUR;
    const replay = { commandId: 'c-1', type: 'webhook.replay', ref: 'a', executionIds: [id], expiresAt };
    expect(await harness.run(replay)).toMatchObject({ status: 'SUCCEEDED' });
    const update = {
      commandId: 'c-2',
      type: 'subscription.update',
      ref: 'a',
      events: ['payment_status'],
      ifMatch: commandId,
    };
    expect(await harness.run({ ...update, expiresAt })).toMatchObject({
      status: 'SUCCEEDED',
    });
    expect(await harness.run({ ...update, commandId: 'c-3' })).toMatchObject({
      errorCode: 'PRECONDITION_FAILED',
    });
  });

  it('a deletion that a crash has kept from its result says that it has deleted', async () => {
    await using harness = await openControlHarness({ retiredKeysTtlMs: 10 * HOUR });
    await harness.run(create('a'));
    const record = harness.recordOf({ commandId: 'c-1', type: 'subscription.delete', ref: 'a' });
    await takeWithoutResult(harness, record);
    await harness.take(record);
    expect(harness.results.at(-1)).toMatchObject({ status: 'SUCCEEDED', message: 'deleted' });
  });

  it('a deletion of an intent before which there were keys is brought to its end', async () => {
    await using harness = await openControlHarness({ retiredKeysTtlMs: 10 * HOUR });
    await harness.run(create('a'));
    await harness.run({ commandId: 'd-1', type: 'subscription.delete', ref: 'a' });
    let writes = 0;
    harness.hooks.onWrite = () => {
      if (++writes === 2) throw killed();
    };
    await expect(harness.take(harness.recordOf({ ...create('a'), commandId: 'c-1' }))).rejects.toThrow();
    const expiresAt = Date.now() + 1_000;
    const record = harness.recordOf({ commandId: 'd-2', type: 'subscription.delete', ref: 'a', expiresAt });
    await takeWithoutResult(harness, record);
    vi.setSystemTime(Date.now() + HOUR);
    await harness.take(record);
    expect(harness.results.at(-1)).toMatchObject({ status: 'SUCCEEDED', message: 'deleted' });
  });

  it('a replay that had begun is brought to its end', async () => {
    await using harness = await openControlHarness({ publicUrl: 'http://127.0.0.1:9' });
    await harness.run(create('a'));
    const { json } = await harness.sandbox.trigger({ ref: 'a', count: 1, wait: 'first' });
    const [{ id }] = json.executions;
    const replay = { commandId: 'c-1', type: 'webhook.replay', ref: 'a', executionIds: [id] };
    const record = harness.recordOf({ ...replay, expiresAt: Date.now() + 1_000 });
    await takeWithoutResult(harness, record);
    vi.setSystemTime(Date.now() + HOUR);
    await harness.take(record);
    expect(harness.results.at(-1)).toMatchObject({ status: 'SUCCEEDED' });
  });
});

describe('a process that finds, right before a request or a write, that the command may be another’s by now', () => {
  const cases = (['create', 'update', 'delete', 'adopt'] as const).flatMap((verb) =>
    [1, 2, 3, 4].map((n) => [verb, n] as const),
  );

  it.each(cases)(
    '%s, before the %i. of them: does no more; the other brings it to its end',
    async (verb, n) => {
      await using harness = await openControlHarness();
      await BEFORE[verb]?.(harness);
      const events = (EVENTS as Record<string, string[]>)[verb];
      const command = { commandId: 'c-1', type: `subscription.${verb}`, ref: 'a', ...(events && { events }) };
      const record = harness.recordOf(command);
      const seen = { requests: harness.provider.requests.length, writes: harness.written.length };
      let checks = 0;
      harness.hooks.onCheck = () => {
        if (++checks === n) harness.stopping.abort();
      };
      const frozen = await harness.take(record).then(
        () => 'ended',
        (error: Error) => error.name,
      );
      const made = harness.provider.requests.length - seen.requests;
      const written =
        harness.written.length -
        seen.writes +
        harness.results.filter((one) => one.commandId === 'c-1').length;
      expect([frozen, made + written]).toEqual(n > checks ? ['ended', checks] : ['AbortError', n - 1]);
      delete harness.hooks.onCheck;
      await harness.take(record, leaseOf(new AbortController().signal));
      expect(harness.results.filter((one) => one.commandId === 'c-1')).toMatchObject([
        { status: 'SUCCEEDED' },
      ]);
      const after = await bothEnds(harness);
      expect(after.known).toEqual(after.there);
      expect(after.there).toHaveLength(verb === 'delete' ? 0 : 1);
    },
  );
});

describe('a command', () => {
  it('that has its result is not carried out again when its commit was lost', async () => {
    await using harness = await openControlHarness();
    const record = harness.recordOf({ commandId: 'c-1', ...create('a') });
    await harness.take(record);
    await harness.take(record);
    expect(harness.results).toHaveLength(1);
    expect(await harness.provider.logged('create')).toHaveLength(1);
  });

  it('with the id of another one is a DUPLICATE, whatever it asks for', async () => {
    await using harness = await openControlHarness();
    await harness.run({ commandId: 'c-1', ...create('a') });
    expect(await harness.run({ commandId: 'c-1', type: 'subscription.delete', ref: 'a' })).toMatchObject({
      status: 'DUPLICATE',
      errorCode: 'COMMAND_DUPLICATE',
    });
    expect(await harness.subscriptions()).toHaveLength(1);
  });

  it.each([
    ['bytes of nobody', Buffer.from('0a0b', 'hex'), null],
    ['a deletion marker', null, null],
    ['a command that is incomplete', { commandId: 'c-1', ref: 'a' }, 'c-1'],
  ])('that is %s is a dead-letter record, and answered where it has an id', async (_, value, id) => {
    await using harness = await openControlHarness();
    const record = harness.recordOf(value);
    await harness.take(record);
    expect(harness.deadLetters).toEqual([{ record, code: 'COMMAND_INVALID' }]);
    const answered = harness.results.map(({ commandId, status }) => [commandId, status]);
    expect(answered).toEqual(id === null ? [] : [[id, 'REJECTED']]);
  });

  it('that cannot be read has no result where its dead-letter record is not stored: it comes again', async () => {
    await using harness = await openControlHarness();
    harness.parts.records.storeDeadLetter = async () => {
      throw killed();
    };
    const record = harness.recordOf({ commandId: 'c-1', ref: 'a' });
    await expect(harness.take(record)).rejects.toMatchObject({ code: 'PUBLISHER_CLOSED' });
    expect(harness.results).toEqual([]);
  });

  it('is judged by all results and subscriptions that there are, and not before they were read', async () => {
    await using harness = await openControlHarness();
    const record = harness.recordOf({ commandId: 'c-1', ...create('a') });
    await harness.take(record);
    const { finished, subscriptions } = harness.parts;
    const known = { results: false, subscriptions: false };
    const readsLate = (what: keyof typeof known) => async () => {
      await new Promise(setImmediate);
      known[what] = true;
    };
    Object.assign(harness.parts, {
      finished: {
        positionOf: (id: string) => (known.results ? finished.positionOf(id) : undefined),
        caughtUp: readsLate('results'),
      },
      subscriptions: {
        get: (ref: string) => (known.subscriptions ? subscriptions.get(ref) : undefined),
        all: () => (known.subscriptions ? subscriptions.all() : []),
        caughtUp: readsLate('subscriptions'),
      },
    });
    await harness.take(record);
    expect([harness.results.length, known]).toEqual([1, { results: true, subscriptions: true }]);
    known.subscriptions = false;
    expect(await harness.run(create('a'))).toMatchObject({ status: 'REJECTED' });
  });

  it('with ifMatch for a ref that was never created is told that there is no subscription', async () => {
    await using harness = await openControlHarness();
    expect(await harness.run(create('a', { ifMatch: 'c-9' }))).toMatchObject({
      errorCode: 'PRECONDITION_FAILED',
      message: expect.stringContaining('the ref has no subscription'),
    });
  });

  it('that is incomplete and has the id of another one is a dead-letter record, and a DUPLICATE', async () => {
    await using harness = await openControlHarness();
    await harness.run({ commandId: 'c-1', ...create('a') });
    const record = harness.recordOf({ commandId: 'c-1', ref: 'a' });
    await harness.take(record);
    expect(harness.deadLetters).toEqual([{ record, code: 'COMMAND_INVALID' }]);
    expect(harness.results.map(({ status }) => status)).toEqual(['SUCCEEDED', 'DUPLICATE']);
  });

  it('that ends in an error without a name has FAILED, and the error is told: those behind it go on', async () => {
    await using harness = await openControlHarness();
    const fault = new RangeError('Maximum call stack size exceeded');
    harness.hooks.onCall = () => {
      throw fault;
    };
    expect(await harness.run({ type: 'subscription.list' })).toMatchObject({
      status: 'FAILED',
      errorCode: 'INTERNAL',
    });
    expect(harness.unnamed).toEqual([fault]);
  });

  it('whose state no topic takes has FAILED by that name', async () => {
    await using harness = await openControlHarness();
    harness.hooks.onWrite = (what) => {
      if (what === 'state') throw new HooklineError('RECORD_TOO_LARGE');
    };
    expect(await harness.run(create('a'))).toMatchObject({ status: 'FAILED', errorCode: 'RECORD_TOO_LARGE' });
  });

  it('whose result no topic takes is answered with as much of it as fits, and that is what is observed', async () => {
    await using harness = await openControlHarness();
    await harness.seed();
    await harness.seed();
    harness.hooks.onWrite = (_, n) => {
      if (n === 1) throw new HooklineError('RECORD_TOO_LARGE');
    };
    const result = await harness.run({ type: 'subscription.list' });
    expect(result).toMatchObject({ status: 'SUCCEEDED', message: expect.stringContaining('cut to 1') });
    expect(result.subscriptions).toHaveLength(1);
    expect(harness.observed).toEqual([result]);
  });

  it('that the stop of the process interrupts has no result: it comes again', async () => {
    await using harness = await openControlHarness();
    await harness.sandbox.fail({ operation: 'list', kind: 'status', code: 503, times: null });
    harness.hooks.onCall = () => harness.stopping.abort();
    await expect(harness.run({ type: 'subscription.list' })).rejects.toMatchObject({ name: 'AbortError' });
    expect([harness.results, harness.unnamed]).toEqual([[], []]);
  });
});
