import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HooklineError } from '../../../src/core/errors.ts';
import { encryptionKey } from '../../../src/crypto/keys.ts';
import { LargeLane } from '../../../src/ingress/large/large-lane.ts';
import { deliveryParts, type Seen, verified } from '../../support/delivery-parts.ts';

let lane: LargeLane;
let seen: Seen;
let deaths: string[];
let published: string[];

beforeEach(() => {
  const { observer, seen: told } = deliveryParts();
  seen = told;
  deaths = [];
  published = [];
  lane = new LargeLane({
    options: {} as never,
    atWork: 100,
    heapMb: 64,
    encryptionKeysOf: () => [encryptionKey('0123456789abcdef0123456789ABCDEF', 0)],
    observer: {
      delivery: observer,
      publishing: {
        attempt() {},
        confirmed: () => published.push('end'),
        sessionOpened: () => published.push('begin'),
      },
      threadDied: (error) => deaths.push((error as Error).message),
    },
    program: new URL('./moody-thread.fixture.ts', import.meta.url),
  });
});
afterEach(() => lane.stop());

const delivery = (word: string, bytes = 40, memory: ArrayBufferLike = new SharedArrayBuffer(bytes)) => {
  const body = Buffer.from(memory);
  body.write(word);
  return { ...verified(''), body };
};
const store = (word: string, bytes?: number) => lane.store(delivery(word, bytes), () => 1_000);

describe('the lane for large bodies', () => {
  it('stores them in its thread, and tells what was seen there', async () => {
    expect(await store('fine')).toEqual({ eventId: 'id-1', stored: 'kafka' });
    expect([seen.matched, seen.unclassified]).toEqual([['ledger-eu encryption 0'], 1]);
  });

  it('says why one was not stored, and what the event id of one would be', async () => {
    await expect(store('away')).rejects.toMatchObject({ code: 'PUBLISH_DEADLINE' });
    expect(await lane.identify(delivery('fine'))).toBe('id-2');
  });

  it('reads a body in shared memory where it is, and another in a copy: both stay with the caller', async () => {
    const [shared, own] = [delivery('mark'), delivery('mark', 40, new ArrayBuffer(40))];
    for (const one of [shared, own]) await lane.store(one, () => 1_000);
    expect([shared, own].map(({ body }) => body.toString('latin1', 0, 4))).toEqual(['Mark', 'mark']);
  });

  it('works on as many as have room, in their order, and asks for each deadline when its turn comes', async () => {
    const kept = Promise.allSettled([store('keep', 60), store('keep', 40)]);
    let asked = 0;
    const third = lane.store(delivery('fine', 1), () => {
      asked++;
      throw new HooklineError('PUBLISH_DEADLINE', 'no longer');
    });
    const refused = third.catch(({ detail }: HooklineError) => detail);
    await new Promise(setImmediate);
    expect(asked).toBe(0);
    await lane.stop();
    const failed = { status: 'rejected', reason: expect.objectContaining({ code: 'LARGE_BODY_FAILED' }) };
    expect(await kept).toEqual([failed, failed]);
    expect([await refused, asked]).toEqual(['no longer', 1]);
  });

  it('has one published while the other is made, as far as both are large', async () => {
    await Promise.all([store('made', 50), store('made', 50)]);
    expect(published).toEqual(['begin', 'end', 'begin', 'end']);
    published = [];
    await Promise.all([store('made', 25), store('made', 25)]);
    expect(published).toEqual(['begin', 'begin', 'end', 'end']);
  });

  it('gives the turn of a thread that ended to the next', async () => {
    const ended = Promise.allSettled([store('made', 45), store('keep', 5), store('die!', 10)]);
    const next = store('made', 40);
    expect(await next).toMatchObject({ stored: 'kafka' });
    expect(deaths.length).toBe(1);
    await lane.stop();
    expect((await ended).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  });

  it('fails what a thread had that ended, not what the other one has, and starts another for the next', async () => {
    const settled: string[] = [];
    const kept = ['first', 'second'].map((name) =>
      store('keep', 30).catch(({ code }: HooklineError) => settled.push(`${name} ${code}`)),
    );
    const fatal = store('die!', 40);
    await expect(fatal).rejects.toMatchObject({ code: 'LARGE_BODY_FAILED', status: 503 });
    expect(deaths).toEqual(['the thread for large bodies ended']);
    expect(await store('fine', 60)).toMatchObject({ stored: 'kafka' });
    expect(settled).toEqual(['first LARGE_BODY_FAILED']);
    await lane.stop();
    await Promise.all(kept);
    expect(settled).toEqual(['first LARGE_BODY_FAILED', 'second LARGE_BODY_FAILED']);
  });
});
