import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { HooklineError } from '../../src/core/errors.ts';
import type { OutgoingRecord, Position } from '../../src/core/record.ts';
import type { DeadLetter } from '../../src/dead-letters/dead-letters.ts';
import { redriveAll } from '../../src/dead-letters/redrive-all.ts';
import { runInOrder } from '../../src/dead-letters/run-in-order.ts';
import { ClaimCheck, objectFirst } from '../../src/delivery/claim-check.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../src/delivery/dead-letter/dead-letter-headers.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { deadLetter } from '../support/dead-letter.ts';
import { deliveryParts } from '../support/delivery-parts.ts';
import { scriptedBodies } from '../support/scripted-object-store.ts';

const EVENTS = 'payments.payment-status';

function received(at: string, receivedAt: number): DeadLetter {
  const made = deadLetter({ at, receivedAt, time: receivedAt, eventId: `event-${at}` });
  const more = { [NAMES.subscriptionId]: 's'.repeat(36), [NAMES.mediaType]: 'json' };
  return { ...made, headers: { ...made.headers, ...more } };
}

const bodyOf = (entityId: string, pad = 10) =>
  Buffer.from(JSON.stringify({ type: 'payment_status', entityId, payload: {}, pad: 'x'.repeat(pad) }));

const fromOf = ({ headers }: OutgoingRecord) =>
  [...headers]
    .find(([name]) => `${name}` === NAMES.redrivenFrom)?.[1]
    .toString()
    .split('/')
    .at(-1);

/** Redrives these bodies, by their place, in one run; and which events are stored, in their order. */
function redriver(
  bodies: ReadonlyMap<string, Buffer | Error>,
  claims: ClaimCheck | undefined,
  before: (at: string) => Promise<void>,
  asked: string[] = [],
) {
  const stored: string[] = [];
  const messages: string[] = [];
  const send = async (record: OutgoingRecord): Promise<Position> => {
    const at = fromOf(record);
    if (record.topic === EVENTS && at !== undefined) {
      await before(at);
      stored.push(at);
    }
    return { topic: record.topic, partition: 0, offset: BigInt(stored.length) };
  };
  const storing = (by: typeof send) => objectFirst(claims, by);
  const delivery = { ...deliveryParts(claims && { claims }), publish: storing(send) };
  const options = {
    signal: new AbortController().signal,
    onProgress() {},
    topic: {
      async bodiesOf(wanted: readonly DeadLetter[]) {
        asked.push(...wanted.map(({ at }) => at));
        return bodies;
      },
    },
    redelivery: {
      delivery,
      send,
      storing,
      readAvro: async () => ({}),
      commandTopics: [],
      abandon() {},
      async stop() {},
    },
  };
  const run = async (selected: readonly DeadLetter[], rate?: number) => {
    const outcomes = await redriveAll(selected, { ...options, rate });
    messages.push(...outcomes.flatMap(({ message }) => message ?? []));
    return Object.fromEntries(outcomes.map(({ deadLetter: { at }, outcome }) => [at, outcome]));
  };
  return { stored, messages, run };
}

it('a redrive stores no event of an entity before an earlier one that has failed', async () => {
  const { store, bodies } = scriptedBodies(systemClock, 300);
  store.fateOf = () => 'unavailable';
  const claims = new ClaimCheck(bodies, 2_000);
  const content = new Map([
    ['0:1', bodyOf('e-1', 5_000)],
    ['0:2', bodyOf('e-1')],
    ['0:3', bodyOf('e-2')],
  ]);
  const { stored, run } = redriver(content, claims, async () => {});
  const all = ['0:1', '0:2', '0:3'].map((at, n) => received(at, 1_000 * n));
  expect(await run(all)).toEqual({ '0:1': 'failed', '0:2': 'waiting', '0:3': 'stored' });
  expect(stored).toEqual(['0:3']);
});

it('a redrive dates objects by its own time: the store deletes them by their age, and their records are new', async () => {
  const { store, bodies } = scriptedBodies(systemClock, 300);
  const now = Date.UTC(2026, 10, 28);
  const claims = new ClaimCheck(bodies, 2_000, () => now);
  const content = new Map([['0:1', bodyOf('e-1', 5_000)]]);
  const { run } = redriver(content, claims, async () => {});
  expect(await run([received('0:1', now - 27 * 86_400_000)])).toEqual({ '0:1': 'stored' });
  expect(store.calls.map(String)).toEqual([expect.stringContaining('/2026/11/28/')]);
});

it('a redrive stores no event behind one that the object store does not give now: it may be of the same entity', async () => {
  const unread = new HooklineError('BODY_STORE_UNAVAILABLE', 'no answer within 15000 ms');
  const content = new Map<string, Buffer | Error>([
    ['0:1', bodyOf('e-1')],
    ['0:2', unread],
    ['0:3', bodyOf('e-1')],
    ['0:4', new HooklineError('OBJECT_MISSING', 's3://bucket/4')],
  ]);
  const { stored, run } = redriver(content, undefined, async () => {});
  const all = [...content.keys()].map((at, n) => received(at, 1_000 * n));
  expect(await run(all)).toEqual({ '0:1': 'stored', '0:2': 'failed', '0:3': 'waiting', '0:4': 'waiting' });
  expect(stored).toEqual(['0:1']);
  content.set('0:2', bodyOf('e-1'));
  expect(await run(all.slice(1))).toEqual({ '0:2': 'stored', '0:3': 'stored', '0:4': 'refused' });
});

it.each([
  ['a sealing key is not set', new HooklineError('BODY_SEALED')],
  ['something answers in the place of the store', new HooklineError('OBJECT_CHANGED', 's3://bucket/1')],
  ['BODY_STORE is not set', new Error('its body is in the object store: set BODY_STORE')],
])('a redrive stores no event behind one that cannot be read now: %s', async (_, why) => {
  const content = new Map<string, Buffer | Error>([
    ['0:1', why],
    ['0:2', bodyOf('e-1')],
  ]);
  const { stored, run } = redriver(content, undefined, async () => {});
  const all = [...content.keys()].map((at, n) => received(at, 1_000 * n));
  expect(await run(all)).toEqual({ '0:1': 'failed', '0:2': 'waiting' });
  content.set('0:1', bodyOf('e-1'));
  expect(await run(all)).toEqual({ '0:1': 'stored', '0:2': 'stored' });
  expect(stored).toEqual(['0:1', '0:2']);
});

it('a redrive stores all events before one that cannot be read now, and says how to get past it', async () => {
  const bodies = Array.from({ length: 20 }, (_, n) => [`0:${n}`, bodyOf('e-1')] as const);
  const content = new Map<string, Buffer | Error>([...bodies, ['0:20', new HooklineError('BODY_SEALED')]]);
  const { stored, run, messages } = redriver(content, undefined, async () => {});
  const outcomes = await run([...content.keys()].map((at, n) => received(at, 1_000 * n)));
  expect(outcomes['0:20']).toBe('failed');
  expect(stored).toEqual(bodies.map(([at]) => at));
  expect(messages).toEqual([
    expect.stringContaining('dismiss it (hookline dlq dismiss --filter at=0:20 --reason WHY)'),
  ]);
});

it('a redrive stores events behind one that nobody can redrive: it cannot wait for that', async () => {
  const spoiled = received('0:1', 0);
  const all = [{ ...spoiled, headers: { ...spoiled.headers, [NAMES.stage]: 'SPOOL' } }, received('0:2', 1)];
  const content = new Map<string, Buffer | Error>([['0:2', bodyOf('e-1')]]);
  const asked: string[] = [];
  const { run } = redriver(content, undefined, async () => {}, asked);
  expect(await run(all)).toEqual({ '0:1': 'refused', '0:2': 'stored' });
  expect(asked).toEqual(['0:2']);
});

it('a redrive stores the events of an entity one after the other, and those of others meanwhile', async () => {
  const content = new Map(
    ['0:1', '0:2'].map((at) => [at, bodyOf('e-1')]).concat([['0:3', bodyOf('e-2')]]) as [string, Buffer][],
  );
  const { stored, run } = redriver(content, undefined, (at) => sleep(at === '0:1' ? 100 : 0));
  const all = ['0:1', '0:2', '0:3'].map((at, n) => received(at, 1_000 * n));
  expect(await run(all)).toEqual({ '0:1': 'stored', '0:2': 'stored', '0:3': 'stored' });
  expect(stored).toEqual(['0:3', '0:1', '0:2']);
});

it('a redrive stores nothing behind one of the same entity that other settings would let through', async () => {
  const selected = ['0:1', '0:2', '0:3'].map((at, n) => received(at, n));
  const outcomes = await runInOrder(selected, {
    rate: undefined,
    signal: new AbortController().signal,
    onProgress() {},
    prepare: async () => null,
    orderOf: ({ at }) => (at === '0:2' ? 'other' : 'one'),
    one: async (deadLetter) =>
      deadLetter.at === '0:1'
        ? { deadLetter, outcome: 'refused', holdsUp: true }
        : { deadLetter, outcome: 'stored' },
  });
  const byPlace = outcomes.map(({ deadLetter: { at }, outcome }) => [at, outcome]);
  expect(Object.fromEntries(byPlace)).toEqual({ '0:1': 'refused', '0:2': 'stored', '0:3': 'waiting' });
});

it('a redrive keeps its rate behind an event that took long', async () => {
  const all = Array.from({ length: 12 }, (_, n) => received(`0:${n}`, n));
  const content = new Map(all.map(({ at }) => [at, bodyOf('e-1')]));
  let last = 0;
  const { run } = redriver(content, undefined, async (at) => {
    last = performance.now();
    await sleep(at === '0:0' ? 1_000 : 0);
  });
  const begin = performance.now();
  expect(new Set(Object.values(await run(all, 20)))).toEqual(new Set(['stored']));
  // Behind the first each has a turn of its own, 50 ms behind the one before; however slow the machine is, it is no sooner.
  expect(last - begin).toBeGreaterThan(1_000 + 9 * 50);
});

it('a redrive whose report fails goes on with nothing behind that', async () => {
  const all = Array.from({ length: 4 }, (_, n) => deadLetter({ at: `0:${n}` }));
  const begun: string[] = [];
  const running = runInOrder(all, {
    rate: undefined,
    signal: new AbortController().signal,
    prepare: async () => {},
    orderOf: () => 'one',
    async one(one) {
      begun.push(one.at);
      return { deadLetter: one, outcome: 'stored' };
    },
    onProgress() {
      throw new TypeError('no report');
    },
  });
  await expect(running).rejects.toThrow('no report');
  await sleep(50);
  expect(begun).toEqual(['0:0']);
});

it('does not take a record whose stage is none of ours for a verified one', async () => {
  const made = received('0:1', 1);
  const foreign = { ...made, headers: { ...made.headers, [NAMES.stage]: 'KEY_CONVERTER' } };
  const { stored, run } = redriver(new Map([['0:1', bodyOf('e-1')]]), undefined, async () => {});
  expect([await run([foreign]), stored]).toEqual([{ '0:1': 'refused' }, []]);
});
