import { describe, expect, it } from 'vitest';
import { LARGE_BODY_BYTES } from '../../../src/core/delivery.ts';
import { AdmissionQueue, type Waiter } from '../../../src/ingress/body/admission-queue.ts';
import { PROVEN, UNPROVEN } from '../../../src/ingress/body/open-bodies.ts';
import { systemClock } from '../../../src/runtime/clock.ts';

const FOREVER = Number.POSITIVE_INFINITY;
const settled = () => new Promise(setImmediate);

/** A queue for so many bytes that are free, and who was admitted and who refused, in their order. */
function queueFor(bytes: number) {
  let free = bytes;
  let now = 0;
  let chance = 0;
  const clock = { ...systemClock, now: () => now, random: () => chance };
  const queue = new AdmissionQueue<true>((wanted) => {
    if (wanted > free) return null;
    free -= wanted;
    return true;
  }, clock);
  const admitted: string[] = [];
  const refused: string[] = [];
  return {
    queue,
    admitted,
    refused,
    wait: (name: string, wanted: number, by: Partial<Waiter> = {}) =>
      void queue.acquire(wanted, FOREVER, undefined, { cost: wanted, ...by }).then(
        () => admitted.push(name),
        ({ code }) => refused.push(`${name} ${code}`),
      ),
    give: async (back: number) => {
      free += back;
      queue.admitNext();
      await settled();
    },
    lacks: () => [...queue.lacks(now, () => free)],
    pass: (ms: number) => {
      now += ms;
    },
    choose: (share: number) => {
      chance = share;
    },
  };
}

describe('the admission queue', () => {
  it('admits proven ones first, however many smaller ones of strangers came before', async () => {
    const { wait, give, admitted } = queueFor(0);
    for (const n of [1, 2, 3]) wait(`stranger ${n}`, 1);
    wait('proven', 50, { class: PROVEN });
    await give(10);
    expect(admitted).toEqual([]);
    await give(41);
    expect(admitted).toEqual(['proven', 'stranger 1']);
  });

  it('refuses one of the strangers where too many wait, and never a proven one for them', async () => {
    const { wait, queue, refused, choose } = queueFor(0);
    wait('proven', 50, { class: PROVEN });
    for (let n = 0; n < 255; n++) wait(`stranger ${n}`, 1);
    choose(0.5);
    wait('late', 2);
    wait('proven too', 50, { class: PROVEN });
    await settled();
    expect([queue.length, refused]).toEqual([256, ['stranger 128 NO_ROOM', 'stranger 127 NO_ROOM']]);
  });

  it('refuses strangers where all that wait are proven, and of those one of what comes from outside', async () => {
    const { wait, refused, choose } = queueFor(0);
    wait('spool', 50, { cost: Number.NEGATIVE_INFINITY, class: UNPROVEN, stuckClass: PROVEN });
    for (let n = 0; n < 255; n++) wait(`proven ${n}`, 1, { class: PROVEN });
    choose(0);
    wait('stranger', 1);
    wait('proven too', 50, { class: PROVEN });
    await settled();
    expect(refused).toEqual(['stranger NO_ROOM', 'proven 0 NO_ROOM']);
  });

  it('admits one byte of others for sixteen of proven ones: a sender with new connections also gets in', async () => {
    const { wait, give, admitted } = queueFor(0);
    wait('new', 2);
    for (let n = 0; n < 40; n++) wait(`proven ${n}`, 1, { class: PROVEN });
    for (let n = 0; n < 40; n++) await give(1);
    expect(admitted.indexOf('new')).toBe(32);
  });

  it('admits smaller ones of a class first, and larger ones before smaller ones that come without end', async () => {
    const { wait, give, admitted } = queueFor(0);
    wait('larger', 20);
    for (let n = 0; n < 100 && !admitted.includes('larger'); n++) {
      wait(`small ${n}`, 4);
      await give(4);
    }
    expect(admitted.slice(0, 3)).toEqual(['small 0', 'small 1', 'small 2']);
    expect(admitted.at(-1)).toBe('larger');
  });

  it('says what is missing for the first of each class: for those behind it together with the better ones', () => {
    const { wait, lacks, pass } = queueFor(5);
    for (const bytes of [6, 7]) wait('stranger', bytes);
    pass(100);
    wait('proven', 20, { class: PROVEN });
    wait('proven', 30, { class: PROVEN });
    pass(1_000);
    const proven = { class: PROVEN, stuckClass: PROVEN, bytes: 45, forFirst: 15, stuckMs: 1_000 };
    const strangers = { class: UNPROVEN, stuckClass: UNPROVEN, bytes: 58, forFirst: 1, stuckMs: 0 };
    expect(lacks()).toMatchObject([proven, strangers]);
  });

  it('counts for how long no larger one was admitted, whatever is admitted of small ones', async () => {
    const { wait, give, lacks, pass, admitted } = queueFor(0);
    wait('larger', 8 * LARGE_BODY_BYTES, { class: PROVEN });
    wait('small', 1, { class: PROVEN });
    pass(1_000);
    await give(1);
    expect(admitted).toEqual(['small']);
    pass(1_000);
    expect(lacks()[0]).toMatchObject({ class: PROVEN, stuckMs: 2_000 });
  });

  it('counts for how long no proven one was admitted, whoever else begins to wait', () => {
    const { wait, lacks, pass } = queueFor(0);
    wait('stranger', 1);
    wait('proven', 1, { class: PROVEN });
    pass(2_000);
    wait('proven', 1, { class: PROVEN });
    wait('stranger', 1);
    expect(lacks()[0]).toMatchObject({ class: PROVEN, stuckMs: 2_000 });
  });

  it('counts for how long no proven one was admitted, whatever is admitted of strangers', async () => {
    const { wait, give, lacks, pass } = queueFor(0);
    for (let n = 0; n < 20; n++) wait('proven', 1, { class: PROVEN });
    wait('stranger', 1);
    for (let n = 0; n < 16; n++) await give(1);
    pass(2_000);
    await give(1);
    expect(lacks().map(({ stuckMs }) => stuckMs)).toEqual([2_000]);
  });
});
