import { expect, it } from 'vitest';
import { BodyMemory } from '../../../src/ingress/bodies/body-memory.ts';

const here = new AbortController().signal;

it('gives large bodies their memory when they are read: one after the other has the same', async () => {
  const memory = new BodyMemory({ small: 100, large: 300, admissionWaitMs: 20, bytesPerSecond: 1e6 });
  for (let n = 0; n < 3; n++) await memory.enterLarge(100, here);
  await expect(memory.enterLarge(100, here)).rejects.toMatchObject({ code: 'NO_ROOM' });
  const first = await memory.placeFor(100, here);
  const second = await memory.placeFor(100, here);
  memory.giveBack(first.into);
  const third = await memory.placeFor(100, here);
  expect([first, second, third].map(({ into, place }) => [into.byteOffset, place])).toEqual([
    [0, 0],
    [100, 1],
    [0, 2],
  ]);
});

it('gives none to a body whose turn has not come', async () => {
  const memory = new BodyMemory({ small: 100, large: 300, admissionWaitMs: 20, bytesPerSecond: 1 });
  const first = await memory.placeFor(100, here);
  memory.pacer.take(1_000_000, first.place, () => {});
  const gone = new AbortController();
  let given = false;
  const second = memory.placeFor(100, gone.signal).then(() => {
    given = true;
  });
  await new Promise(setImmediate);
  expect(given).toBe(false);
  gone.abort();
  await expect(second).rejects.toMatchObject({ code: 'BODY_INCOMPLETE' });
});

it('lets a body wait for a piece that is large enough, though there is as much in smaller ones', async () => {
  const memory = new BodyMemory({ small: 100, large: 300, admissionWaitMs: 20, bytesPerSecond: 1e6 });
  const places: { readonly into: Buffer }[] = [];
  for (let n = 0; n < 3; n++) places.push(await memory.placeFor(100, here));
  const [first, second, third] = places.map(({ into }) => into) as [Buffer, Buffer, Buffer];
  memory.giveBack(first);
  memory.giveBack(third);
  const waiting = memory.placeFor(200, here);
  const gone = new AbortController();
  const left = expect(memory.placeFor(100, gone.signal)).rejects.toMatchObject({ code: 'BODY_INCOMPLETE' });
  gone.abort();
  await left;
  memory.giveBack(second);
  expect((await waiting).into.length).toBe(200);
});
