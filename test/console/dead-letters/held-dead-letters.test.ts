import { expect, it } from 'vitest';
import { HeldDeadLetters } from '../../../src/console/dead-letters/held-dead-letters.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../../src/delivery/dead-letter/dead-letter-headers.ts';

const ALL = new Map([[0, 0n]]);

function holding(max: number) {
  const held = new HeldDeadLetters(max);
  let end = 0n;
  const take = (headers: Record<string, string>, timestamp = Number(end)) =>
    held.take({ partition: 0, offset: end++, timestamp, key: null, bytes: 1, headers });
  const part = (eventId: string, n: number, of: number, timestamp?: number) => {
    const parts = { [NAMES.part]: `${n}`, [NAMES.parts]: `${of}` };
    take({ [NAMES.stage]: 'DECRYPT', [NAMES.eventId]: eventId, ...parts }, timestamp);
  };
  const tidy = (oldest = 0n) => held.tidy(new Map([[0, oldest]]), new Map([[0, end]]));
  const names = () => held.deadLetters().map(({ headers, missing }) => [headers[NAMES.eventId], missing]);
  return { held, take, part, tidy, names };
}

it('forgets all parts of a delivery, or none', () => {
  const { held, part, tidy, names } = holding(10);
  part('a', 1, 2);
  part('b', 1, 2);
  part('a', 2, 2);
  part('b', 2, 2);
  for (const id of ['c', 'd', 'e', 'f', 'g', 'h', 'i']) part(id, 1, 1);
  tidy();
  expect(names()).toEqual(['c', 'd', 'e', 'f', 'g', 'h', 'i'].map((id) => [id, []]));
  expect([held.openNotHeld, held.isPartial, held.size]).toEqual([2, true, 7]);
});

it('holds or counts each delivery, where the clocks of two writers differ', () => {
  const { held, part, tidy } = holding(20);
  part('b-0', 1, 1, 990);
  part('a-large', 1, 2, 1_000);
  for (let n = 2; n < 8; n++) part(`b-${n}`, 1, 1, n < 5 ? 995 + n / 2 : 1_095 + n);
  part('a-large', 2, 2, 1_001);
  for (let n = 9; n < 21; n++) part(`c-${n}`, 1, 1, 2_000 + n);
  tidy();
  expect(held.deadLetters().length + held.openNotHeld).toBe(20);
});

it('counts no record twice, whatever markers say and retention deletes', () => {
  const { held, take, part, tidy } = holding(10);
  for (let n = 0; n < 40; n++) part(`event-${n}`, 1, 1);
  tidy();
  expect([held.openNotHeld, held.size]).toEqual([31, 9]);
  for (const _ of [1, 2]) take({ [NAMES.redriveOf]: '0:3,0:2', [NAMES.redrivenTo]: 't[0]@1' });
  tidy();
  expect(held.openNotHeld).toBe(29);
  tidy(10n);
  expect(held.openNotHeld).toBe(21);
  tidy(10n);
  expect(held.openNotHeld).toBe(21);
  tidy(40n);
  expect([held.openNotHeld, held.isPartial]).toEqual([0, true]);
});

it('is bounded, whatever is written: parts that are in no list too', () => {
  const { held, part, tidy } = holding(100);
  part('same', 1, 1);
  for (let n = 0; n < 1_000; n++) part('same', 1, 1_000 + n);
  tidy();
  expect(held.size).toBeLessThanOrEqual(100);
});

it('holds a million open records as bits', () => {
  const { held, part, tidy } = holding(1_000);
  for (let n = 0; n < 200_000; n++) {
    part(`event-${n}`, 1, 1);
    if (n % 5_000 === 0) tidy();
  }
  tidy();
  expect(held.size).toBeLessThanOrEqual(1_000);
  expect(held.openNotHeld + held.size).toBe(200_000);
  held.tidy(new Map([[0, 100_000n]]), ALL);
  expect(held.openNotHeld + held.size).toBe(100_000);
});
