import { Socket } from 'node:net';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { BodyMemory } from '../../../src/ingress/body/body-memory.ts';
import { type BodyClass, OpenBody, PROVEN, UNPROVEN } from '../../../src/ingress/body/open-bodies.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { manualClock } from '../../support/manual-clock.ts';

const KIB = 1024;
const MIB = KIB * KIB;
const here = new AbortController().signal;

let now: number;
let memory: BodyMemory;
let ended: string[];

beforeEach(() => {
  now = 0;
  ended = [];
  memory = new BodyMemory({
    small: 8 * MIB,
    large: 300,
    atWork: 100,
    read: 300,
    admissionWaitMs: 20,
    pace: { beside: 1e6, alone: 1e6 },
    clock: { ...systemClock, now: () => now },
  });
});

function open(name: string, of: BodyClass = UNPROVEN): OpenBody {
  const body = new OpenBody();
  body.class = of;
  body.end = ({ code }) => {
    ended.push(`${name} ${code}`);
    memory.arriving.release(body);
    memory.releaseLarge(body);
  };
  memory.open.add(new Socket(), body);
  body.resume(now);
  return body;
}

/** Bytes arrive, and are charged for. */
function arrive(body: OpenBody, bytes: number): boolean {
  body.bytes += bytes;
  return memory.charge(body, bytes);
}

describe('memory for bodies that arrive', () => {
  it('is charged for what has arrived', () => {
    const body = open('one');
    expect([arrive(body, 100), arrive(body, 50), memory.small.taken]).toEqual([true, true, 150]);
    memory.arriving.release(body);
    expect(memory.small.taken).toBe(0);
  });

  it('is taken from the slowest when it is short, at once', () => {
    const slow = [open('slow', UNPROVEN), open('slowest', UNPROVEN), open('fast', UNPROVEN)] as const;
    arrive(slow[0], 500 * KIB);
    arrive(slow[1], 400 * KIB);
    arrive(slow[2], 900 * KIB);
    now += 20_000;
    slow[2].bytes += 20 * MIB;
    expect(arrive(open('next'), 300 * KIB)).toBe(true);
    expect(ended).toEqual(['slowest NO_ROOM', 'slow NO_ROOM']);
  });

  it('is never taken from a better class', () => {
    const proven = open('proven', PROVEN);
    arrive(proven, 2 * MIB);
    now += 20 * 60_000;
    expect(arrive(open('unproved'), KIB)).toBe(false);
    expect(ended).toEqual([]);
  });

  it('is taken from a worse class first, however slow those of the own one are', () => {
    const own = open('own', PROVEN);
    const worse = open('worse');
    arrive(own, KIB);
    arrive(worse, 2 * MIB - KIB);
    now += 60_000;
    expect(arrive(open('next', PROVEN), KIB)).toBe(true);
    expect(ended).toEqual(['worse NO_ROOM']);
  });

  it('is not taken from one whose sender waits for us', () => {
    const paused = open('paused');
    arrive(paused, 2 * MIB);
    paused.pause(now);
    now += 60_000;
    expect(arrive(open('next'), KIB)).toBe(false);
    expect(ended).toEqual([]);
  });

  it('is had in full by one that waited for it, while others wait', async () => {
    const bodies = Array.from({ length: 8 }, (_, n) => open(`${n}`));
    for (const body of bodies) arrive(body, 256 * KIB);
    const waits = bodies.map((body) => memory.reserve(body, 768 * KIB, here).then(() => body));
    const [first, second] = await Promise.all(waits.slice(0, 2));
    expect(memory.small.waiting).toBe(6);
    for (let n = 0; n < 3; n++)
      for (const body of [first, second]) expect(memory.charge(body as OpenBody, 256 * KIB)).toBe(true);
    const settled = Promise.allSettled(waits.slice(4));
    for (const one of bodies.slice(0, 4)) {
      await waits[bodies.indexOf(one)];
      memory.arriving.release(one);
    }
    await settled;
  });
});

describe('memory that waits for bodies', () => {
  it('is had first by one that needs little, not by the strangers that came before with almost 1 MiB', async () => {
    const holding = [open('holding', PROVEN), open('holding', PROVEN)];
    for (const body of holding) {
      await memory.reserve(body, 2 * MIB, here);
      body.pause(now);
    }
    const order: string[] = [];
    const reserve = (name: string, bytes: number, of?: BodyClass) =>
      memory.reserve(open(name, of), bytes, here).then(
        () => order.push(name),
        () => {},
      );
    const waits = [1, 2, 3].map((n) => reserve(`stranger ${n}`, 900 * KIB));
    waits.push(reserve('small', 100 * KIB), reserve('proven', MIB, PROVEN));
    memory.arriving.release(holding[0] as OpenBody);
    await Promise.all(waits);
    expect(order.slice(0, 2)).toEqual(['proven', 'small']);
  });
});

describe('the least speed', () => {
  it('is asked of each body once we have been ready for it for 5 s', () => {
    const slow = open('slow');
    const enough = open('enough');
    const empty = open('empty');
    slow.bytes = 5 * 239;
    enough.bytes = 5 * 241;
    now += 4_999;
    memory.open.sweep();
    expect([ended, empty.isPaused]).toEqual([[], false]);
    now += 1;
    memory.open.sweep();
    expect(ended).toEqual(['slow BODY_TOO_SLOW', 'empty BODY_TOO_SLOW']);
  });

  it('counts no time in which the sender waits for us', () => {
    const body = open('paused');
    body.pause(now);
    now += 60_000;
    memory.open.sweep();
    body.resume(now);
    now += 4_999;
    memory.open.sweep();
    expect(ended).toEqual([]);
  });
});

describe('memory for large bodies', () => {
  const enter = async (body: OpenBody, bytes = 100, signal = here) => {
    const place = memory.throttle.nextTicket(bytes, body.class === PROVEN ? 'proven' : 'unknown');
    await memory.acquireLarge(body, bytes, place, signal);
    return place;
  };
  const pieceFor = async (body: OpenBody, bytes = 100) =>
    memory.pieceFor(body, await enter(body, bytes), here);

  it('is had when they are read: one after the other has the same', async () => {
    const bodies = ['1', '2', '3'].map((name) => open(name));
    const first = await pieceFor(bodies[0] as OpenBody);
    const second = await pieceFor(bodies[1] as OpenBody);
    memory.giveBack(first);
    const third = await pieceFor(bodies[2] as OpenBody);
    expect([first, second, third].map(({ byteOffset }) => byteOffset)).toEqual([0, 100, 0]);
    await expect(enter(open('4'))).rejects.toMatchObject({ code: 'NO_ROOM' });
  });

  it('is not had by a body whose turn has not come', async () => {
    memory = new BodyMemory({
      small: 100,
      large: 300,
      read: 300,
      atWork: 100,
      admissionWaitMs: 20,
      pace: { beside: 1, alone: 1 },
      clock: systemClock,
    });
    const first = open('first');
    memory.throttle.consume(1_000_000, await enter(first), () => {});
    const gone = new AbortController();
    const second = open('second');
    const place = await enter(second);
    let given = false;
    const waiting = memory.pieceFor(second, place, gone.signal).then(() => {
      given = true;
    });
    const left = expect(waiting).rejects.toMatchObject({ code: 'BODY_INCOMPLETE' });
    await new Promise(setImmediate);
    expect(given).toBe(false);
    gone.abort();
    memory.throttle.disable();
    await left;
  });

  it('is taken from slow ones for one that waits, the slowest first, and a fast one goes on', async () => {
    const fast = open('fast');
    const slow = open('slow');
    const slowest = open('slowest');
    for (const body of [fast, slow, slowest]) await enter(body);
    now += 10_000;
    fast.bytes = 50 * MIB;
    slow.bytes = 2 * KIB;
    await enter(open('next'));
    expect(ended).toEqual(['slowest NO_ROOM']);
    fast.bytes = slow.bytes = 500 * MIB;
    await expect(enter(open('one more'))).rejects.toMatchObject({ code: 'NO_ROOM' });
  });

  it('is left to bodies up to 4 MiB by the larger ones, in part', async () => {
    const large = 160 * MIB;
    memory = new BodyMemory({
      small: 8 * MIB,
      large,
      read: large,
      atWork: MIB,
      admissionWaitMs: 20,
      clock: { ...systemClock, now: () => now },
    });
    const larger = [50, 50, 40].map((size) => [open('larger'), size * MIB] as const);
    const tickets = [];
    for (const [body, bytes] of larger) tickets.push(await enter(body, bytes));
    await expect(enter(open('one more'), 5 * MIB)).rejects.toMatchObject({ code: 'NO_ROOM' });
    const smaller = open('smaller');
    const ticket = await enter(smaller, 4 * MIB);
    for (const [n, [body]] of larger.entries()) await memory.pieceFor(body, tickets[n] as never, here);
    expect((await memory.pieceFor(smaller, ticket, here)).length).toBe(4 * MIB);
    expect(ended).toEqual([]);
  });

  it('is left to bodies up to 4 MiB also while larger ones, and one of the spool, wait before them', async () => {
    const large = 160 * MIB;
    memory = new BodyMemory({
      small: 8 * MIB,
      large,
      read: large / 2,
      atWork: MIB,
      admissionWaitMs: 60_000,
      clock: { ...systemClock, now: () => now },
    });
    const hogs = [open('hog'), open('hog'), open('hog')];
    const pieces = hogs
      .slice(0, 2)
      .map(async (body) => memory.pieceFor(body, await enter(body, 35 * MIB), here));
    await Promise.all(pieces);
    const waiting = memory.pieceFor(hogs[2] as OpenBody, await enter(hogs[2] as OpenBody, 50 * MIB), here);
    const drained = memory.awaitWork(30 * MIB);
    const late = enter(open('one more'), 40 * MIB);
    await vi.waitFor(() => expect(memory.waiting('large')).toBe(3));
    expect((await pieceFor(open('2 MiB'), 2 * MIB)).length).toBe(2 * MIB);
    expect(ended).toEqual([]);
    void Promise.allSettled([waiting, drained, late]);
  });

  it('is taken from bodies that nothing is known of for one of the spool, where it has waited for long', async () => {
    const hogs = [open('stranger'), open('proven stranger', PROVEN)];
    for (const body of hogs) {
      await enter(body, 150);
      body.bytes = 500 * MIB;
    }
    const own = () => ended.filter((one) => one.includes('stranger'));
    const drained = memory.awaitWork(30);
    now += 2_999;
    memory.check();
    expect(own()).toEqual([]);
    now += 1;
    memory.check();
    (await drained)();
    expect(own()).toEqual(['stranger NO_ROOM']);
  });

  it('is not taken from slow proven senders for one of the spool, however many wait behind it', async () => {
    const slow = open('slow, proven', PROVEN);
    await enter(slow, 150);
    const fast = open('fast');
    await enter(fast, 150);
    now += 2_000;
    [slow.bytes, fast.bytes] = [1, 500 * MIB];
    const drained = memory.awaitWork(30);
    const waiting = [open('a'), open('b')].map((body) => enter(body, 150));
    memory.check();
    expect(ended).not.toContain('slow, proven NO_ROOM');
    void Promise.allSettled([drained, ...waiting]);
  });

  it('is not taken from those that wait unread for one that waits for its place: they have none', async () => {
    const large = 100 * MIB;
    memory = new BodyMemory({
      small: 8 * MIB,
      large,
      read: large / 2,
      atWork: MIB,
      admissionWaitMs: 60_000,
      clock: { ...systemClock, now: () => now },
    });
    const reading = open('is read', PROVEN);
    await memory.pieceFor(reading, await enter(reading, 40 * MIB), here);
    reading.isWhole = true;
    const unread = open('unread');
    void memory.pieceFor(unread, await enter(unread, 20 * MIB), here).catch(() => {});
    unread.pause(now);
    const proven = open('proven', PROVEN);
    void memory.pieceFor(proven, await enter(proven, 20 * MIB), here).catch(() => {});
    await vi.waitFor(() => expect(memory.waiting('large')).toBe(2));
    for (let n = 0; n < 20; n++) {
      now += 250;
      memory.check();
    }
    expect(ended).not.toContain('unread NO_ROOM');
  });

  it('is taken from slow ones for a larger one that the rest would not be enough for', async () => {
    const large = 64 * MIB;
    memory = new BodyMemory({
      small: 8 * MIB,
      large,
      read: large,
      atWork: MIB,
      admissionWaitMs: 20,
      clock: { ...systemClock, now: () => now },
    });
    const slow = open('slow');
    await enter(slow, 12 * MIB);
    now += 10_000;
    // 62 of 64 MiB, of which larger ones leave eight.
    await enter(open('larger', PROVEN), 50 * MIB);
    expect(ended).toEqual(['slow NO_ROOM']);
  });

  it('is taken from fast strangers for a proven one that has waited for long, whoever of them comes in meanwhile', async () => {
    memory = new BodyMemory({
      small: 8 * MIB,
      large: 300,
      read: 300,
      atWork: 100,
      admissionWaitMs: 60_000,
      clock: { ...systemClock, now: () => now },
    });
    const held = Array.from({ length: 30 }, (_, n) => open(`stranger ${n}`));
    for (const body of held) {
      await enter(body, 10);
      body.pause(now);
    }
    const proven = enter(open('proven', PROVEN), 200);
    for (let n = 0; n < 12; n++) {
      expect(ended).toEqual([]);
      void enter(open(`late ${n}`), 10).catch(() => {});
      now += 250;
      memory.check();
    }
    await proven;
    expect(ended.length).toBe(20);
  });

  it('is not taken twice: what was ended for the first one counts for those behind it', async () => {
    const holds = Array.from({ length: 4 }, (_, n) => open(`slow ${n}`));
    for (const body of holds) {
      await enter(body, 75);
      // Its memory is given back a moment later, as that of a real one.
      body.end = () => ended.push('slow');
    }
    now += 1_000;
    const waiting = [open('proven', PROVEN), open('stranger')].map((body) => enter(body, 60));
    memory.check();
    memory.check();
    expect(ended.length).toBe(2);
    await Promise.allSettled(waiting);
  });

  it('is had by a small one before those that came first with much more', async () => {
    const holding = open('holding');
    await enter(holding, 300);
    holding.pause(now);
    const entered: string[] = [];
    const settled = Promise.allSettled([
      enter(open('300'), 300).then(() => entered.push('300')),
      enter(open('20'), 20).then(() => entered.push('20')),
      enter(open('270, proven', PROVEN), 270).then(() => entered.push('270, proven')),
    ]);
    memory.releaseLarge(holding);
    await settled;
    expect(entered).toEqual(['270, proven', '20']);
  });
});

describe('memory for working on one more body', () => {
  const lender = (large: number) =>
    new BodyMemory({
      small: 8 * MIB,
      large,
      read: large,
      atWork: 100,
      admissionWaitMs: 20,
      clock: systemClock,
    });

  it('of the spool is waited for, and comes before bodies that wait', async () => {
    const memory = lender(500);
    await memory.large.acquire(300, 1_000);
    const order: string[] = [];
    const outside = memory.large.acquire(300, 10_000).then(() => order.push('outside'));
    const work = memory.awaitWork(100).then((giveBack) => {
      order.push('spool');
      return giveBack;
    });
    memory.large.release(300);
    (await work)();
    await outside;
    expect([order, memory.large.taken]).toEqual([['spool', 'outside'], 300]);
  });

  it('is that of bodies that wait to be read, and theirs again when it is given back', async () => {
    const lent = lender(1_000);
    const giveBack = lent.borrowWork();
    expect(lent.large.taken).toBe(400);
    const reader = lent.large.acquire(700, 10_000);
    giveBack?.();
    await reader;
    expect(lent.large.taken).toBe(700);
  });

  it('is not lent where it would be more than half of it, is not free, or a body waits for it', async () => {
    expect(lender(799).borrowWork()).toBeNull();
    const full = lender(1_000);
    full.large.addUnchecked(700);
    expect(full.borrowWork()).toBeNull();
    const waiting = full.large.acquire(600, 10);
    full.large.release(200);
    expect(full.borrowWork()).toBeNull();
    await expect(waiting).rejects.toMatchObject({ code: 'NO_ROOM' });
    expect(full.borrowWork()).not.toBeNull();
  });

  it('is for times in which no small bodies come', async () => {
    const clock = manualClock();
    const lent = new BodyMemory({
      small: 8 * MIB,
      large: 1_000,
      read: 1_000,
      atWork: 100,
      admissionWaitMs: 20,
      clock,
    });
    expect(lent.isQuiet()).toBe(true);
    lent.throttle.smallCame();
    expect(lent.isQuiet()).toBe(false);
    await clock.advance(99);
    expect(lent.isQuiet()).toBe(false);
    await clock.advance(1);
    expect(lent.isQuiet()).toBe(true);
  });
});
