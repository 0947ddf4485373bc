import { expect, it } from 'vitest';
import type { Found } from '../../../src/cli/inspect/search-topics.ts';
import { tellStory } from '../../../src/console/find/tell-story.ts';

const BEGIN = Date.UTC(2026, 0, 1);
const at = (second: number) => new Date(BEGIN + second * 1_000).toISOString();
const found = (second: number, step: string, more: Partial<Found> = {}): Found => ({
  time: at(second),
  topic: 't',
  partition: 0,
  offset: BigInt(second),
  step,
  what: step,
  eventId: 'e',
  ref: 'eu',
  ...more,
});
const steps = (records: Found[], replays: Found[] = []) =>
  tellStory(records, replays).map(({ step, time }) => `${time.slice(17, 19)} ${step}`);

it('says when each webhook was received, once for all its records', () => {
  const parts = [1, 2].map((second) => found(second, 'dead-lettered', { receivedAt: BEGIN }));
  expect(steps([...parts, found(9, 'redriven', { receivedAt: BEGIN })])).toEqual([
    '00 received',
    '01 dead-lettered',
    '02 dead-lettered',
    '09 redriven',
  ]);
});

it('leaves receipts out where more than one event is told of', () => {
  const one = found(1, 'stored', { receivedAt: BEGIN });
  expect(steps([one, found(2, 'stored', { receivedAt: BEGIN, eventId: 'f' })])).toEqual([
    '01 stored',
    '02 stored',
  ]);
});

it('keeps the receipt beside the marker of a redrive, which names no event', () => {
  const { eventId: _, ...marker } = found(2, 'marked as redriven');
  expect(steps([found(1, 'dead-lettered', { receivedAt: BEGIN }), marker])).toEqual([
    '00 received',
    '01 dead-lettered',
    '02 marked as redriven',
  ]);
});

it('names a replay of the ref between an event and its repeat, and no other', () => {
  const records = [found(2, 'stored'), found(6, 'repeat')];
  const replay = (second: number) => found(second, 'replay requested', { topic: 'commands' });
  expect(steps(records, [replay(1), replay(4), replay(8)])).toEqual([
    '02 stored',
    '04 replay requested',
    '06 repeat',
  ]);
  expect(steps([found(2, 'stored')], [replay(4)])).toEqual(['02 stored']);
});
