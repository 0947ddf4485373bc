import { expect, it } from 'vitest';
import { type Found, inOrder } from '../../../src/cli/inspect/search-topics.ts';

const found = (second: number, step: string, more: Partial<Found> = {}): Found => ({
  time: `2026-01-01T00:00:0${second}.000Z`,
  topic: 't',
  partition: 0,
  offset: BigInt(second),
  step,
  what: '',
  eventId: 'e',
  ...more,
});
const steps = (all: Found[]) => inOrder(all).map(({ step, offset }) => `${step} ${offset}`);

it('calls the same event stored once more a repeat, in the order of time', () => {
  expect(steps([found(3, 'stored'), found(1, 'stored'), found(2, 'dead-lettered')])).toEqual([
    'stored 1',
    'dead-lettered 2',
    'repeat 3',
  ]);
});

it('calls neither a redriven event, nor another one, nor one of another topic a repeat', () => {
  const all = [found(1, 'stored'), found(2, 'redriven'), found(3, 'stored', { eventId: 'f' })];
  expect(steps([...all, found(4, 'stored', { topic: 'u' })])).toEqual([
    'stored 1',
    'redriven 2',
    'stored 3',
    'stored 4',
  ]);
});
