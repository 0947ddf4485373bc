import { expect, it } from 'vitest';
import { followState } from '../../src/control/follow-state.ts';
import { forbidden, type TopicFetcher } from '../../src/kafka/consume/topic-fetcher.ts';
import { SCHEMA_IDS, SCHEMAS } from '../simulation/control/parts.ts';
import { manualClock } from '../support/manual-clock.ts';

it('a start that may not read one of its topics leaves none of them open: it is tried again', async () => {
  const open = new Set<string>();
  let opened = 0;
  const openTopic = (topic: string) => {
    open.add(topic);
    opened++;
    const lookUp = async () => {
      if (topic === 'p.command-results') throw forbidden(topic, new Error('denied'));
      return { topicId: 'id', leaders: [undefined] };
    };
    return { lookUp, close: () => void open.delete(topic) } as unknown as TopicFetcher;
  };
  const following = followState({
    openTopic,
    prefix: 'p',
    schemas: SCHEMAS,
    ids: SCHEMA_IDS,
    clock: manualClock(),
    registry: {} as never,
    onUnreadable: expect.fail,
    onAwaited: expect.fail,
    onBrokenOff() {},
    onRecreated: expect.fail,
  });
  await expect(following).rejects.toThrow('p.command-results: this user may not read it');
  expect([opened, [...open]]).toEqual([2, []]);
});
