import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TooLong } from '../../../src/avro/avro-writer.ts';
import { HooklineError } from '../../../src/core/errors.ts';
import { encryptionKey } from '../../../src/crypto/keys.ts';
import { LargeBodyWorker } from '../../../src/ingress/large-body/large-body-worker.ts';
import { deliveryParts, type Seen, verified } from '../../support/delivery-parts.ts';
import { type ManualClock, manualClock } from '../../support/manual-clock.ts';

let large: LargeBodyWorker;
let seen: Seen;
let deaths: string[];
let clock: ManualClock;

beforeEach(() => {
  const { observer, seen: told } = deliveryParts();
  seen = told;
  deaths = [];
  clock = manualClock();
  large = new LargeBodyWorker({
    options: {} as never,
    atWork: 100,
    clock,
    heapMb: 64,
    storeRefusal: () => null,
    kafkaToken: undefined,
    bodySealing: undefined,
    encryptionKeysOf: () => [encryptionKey('0123456789abcdef0123456789ABCDEF', 0)],
    observer: {
      delivery: observer,
      publishing: { attempt() {}, confirmed() {}, sessionOpened() {} },
      objectWritten() {},
      tokenRejected() {},
      threadDied: (error) => deaths.push((error as Error).message),
    },
    program: new URL('./moody-thread.fixture.ts', import.meta.url),
  });
});
afterEach(() => large.stop());

const delivery = (word: string, bytes = 40, memory: ArrayBufferLike = new SharedArrayBuffer(bytes)) => {
  const body = Buffer.from(memory);
  body.write(word);
  return { ...verified(''), body };
};
const store = (word: string, bytes?: number) => large.store(delivery(word, bytes), () => 1_000);

describe('the worker for large bodies', () => {
  it('stores them in its thread, and tells what was seen there', async () => {
    expect(await store('fine')).toEqual({ eventId: 'id-1', stored: 'kafka' });
    expect([seen.matched, seen.unclassified]).toEqual([['ledger-eu encryption 0'], 1]);
  });

  it('says why one was not stored, and what the event id of one would be', async () => {
    await expect(store('fail')).rejects.toMatchObject({ code: 'PUBLISH_DEADLINE' });
    expect(await large.identify(delivery('fine'))).toEqual({ eventId: 'id-2', order: 'topic key' });
  });

  it('reads a body in shared memory where it is, and another in a copy: both stay with the caller', async () => {
    const shared = delivery('mark');
    const own = delivery('mark', 40, new ArrayBuffer(40));
    for (const one of [shared, own]) await large.store(one, () => 1_000);
    expect([shared, own].map(({ body }) => body.toString('latin1', 0, 4))).toEqual(['Mark', 'mark']);
  });

  it('works on as many as have room, in their order, and asks for each deadline when its turn comes', async () => {
    const kept = Promise.allSettled([store('keep', 60), store('keep', 40)]);
    let asked = 0;
    const third = large.store(delivery('fine', 1), () => {
      asked++;
      throw new HooklineError('PUBLISH_DEADLINE', 'no longer');
    });
    const refused = third.catch(({ detail }: HooklineError) => detail);
    await new Promise(setImmediate);
    expect(asked).toBe(0);
    await large.stop();
    const failed = { status: 'rejected', reason: expect.objectContaining({ code: 'LARGE_BODY_FAILED' }) };
    expect(await kept).toEqual([failed, failed]);
    expect([await refused, asked]).toEqual(['no longer', 1]);
  });

  it('works on those that come from outside while the brokers do not confirm one of the spool', async () => {
    const ended: string[] = [];
    const draining = large.drain(delivery('keep', 100)).catch(({ code }: HooklineError) => ended.push(code));
    expect(large.hasRoom(100)).toBe(true);
    expect(await store('fine', 100)).toMatchObject({ stored: 'kafka' });
    expect(await large.aside(async () => 'done')).toBe('done');
    // Half a minute later its thread is still there.
    await clock.advance(40_000);
    expect(ended).toEqual([]);
    await large.stop();
    await draining;
    expect(ended).toEqual(['LARGE_BODY_FAILED']);
  });

  it('works alone on one whose record is longer than its share, and counts nothing twice', async () => {
    const kept = store('keep', 40);
    const wide = store('wide', 40);
    const behind = store('fine', 20);
    await expect.poll(() => seen.unclassified).toBe(1);
    await behind;
    expect(large.hasRoom(1)).toBe(false);
    await large.drain(delivery('go!!'));
    await Promise.all([kept, wide]);
    // Those of wide, once, and of the other three.
    expect(seen.unclassified).toBe(4);
    expect(large.hasRoom(100)).toBe(true);
  });

  it('says so where one of the spool needs more memory than its length, and takes it with as much as a body can have', async () => {
    await expect(large.drain(delivery('wide'))).rejects.toThrow(TooLong);
    expect(await large.drain(delivery('wide'), 100)).toMatchObject({ stored: 'kafka' });
  });

  it('does other work in the place of a body, as soon as none is worked on, and before those that come later', async () => {
    const order: string[] = [];
    const note = (what: string) => () => void order.push(what);
    let end = () => {};
    const first = large.aside(
      () =>
        new Promise<void>((resolve) => {
          end = resolve;
        }),
    );
    const stored = store('fine').then(note('stored'));
    // Whoever stored hears of it in the same turn of the event loop.
    const aside = large.aside(() => new Promise(setImmediate).then(note('aside')));
    expect(large.hasRoom(1)).toBe(false);
    await new Promise(setImmediate);
    expect(order).toEqual([]);
    end();
    await Promise.all([first, stored, aside]);
    expect(order).toEqual(['stored', 'aside']);
    expect(large.hasRoom(100)).toBe(true);
  });

  it('ends its thread half a minute after the last one, or after the start that none followed', async () => {
    // Of each thread the first job is number 1.
    const id = async () => (await store('fine')).eventId;
    expect([await id(), await id()]).toEqual(['id-1', 'id-2']);
    await clock.advance(29_999);
    large.warm();
    await clock.advance(29_999);
    expect(await id()).toBe('id-3');
    await clock.advance(30_000);
    expect([await id(), await id()]).toEqual(['id-1', 'id-2']);
    expect([deaths, clock.waiting()]).toEqual([[], 1]);
  });

  it('fails what its thread had when that ended, and starts another for the next', async () => {
    const ended = Promise.allSettled([store('keep', 30), store('keep', 30), store('die!', 40)]);
    // It waited for room, and so was not in that thread yet.
    expect(await store('fine', 60)).toMatchObject({ stored: 'kafka' });
    const failed = {
      status: 'rejected',
      reason: expect.objectContaining({ code: 'LARGE_BODY_FAILED', status: 503 }),
    };
    expect(await ended).toEqual([failed, failed, failed]);
    expect(deaths).toEqual(['the thread ended']);
  });
});
