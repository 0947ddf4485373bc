import { expect, it } from 'vitest';
import { Group } from './group.ts';
import type { JoinAnswer } from './group-messages.ts';
import { GROUP_CODES as CODES } from './protocol.ts';

/** What real brokers do here was seen by `make simulate-agreement`. */
function start() {
  let now = 0;
  let given = 0;
  const timers = new Set<{ readonly at: number; readonly work: () => void }>();
  const group = new Group({
    after(ms, work) {
      const timer = { at: now + ms, work };
      timers.add(timer);
      return { cancel: () => void timers.delete(timer) };
    },
    now: () => now,
    newId: () => `${++given}`,
    note: () => {},
  });
  const pass = (ms: number) => {
    now += ms;
    for (const timer of [...timers].filter(({ at }) => at <= now)) {
      timers.delete(timer);
      timer.work();
    }
  };
  const join = (memberId: string): JoinAnswer[] => {
    const answers: JoinAnswer[] = [];
    const protocols = [{ name: 'any', metadata: Buffer.alloc(0) }];
    const times = { sessionMs: 10_000, rebalanceMs: 60_000 };
    group.join({ kind: 'join', memberId, ...times, protocols, clientId: 'c' }, (one) => answers.push(one));
    return answers;
  };
  const sync = (memberId: string, generation: number) =>
    group.sync({ kind: 'sync', memberId, generation, assignments: [] }, () => {});
  const beat = (memberId: string, generation: number) =>
    group.heartbeat({ kind: 'heartbeat', memberId, generation });
  const leave = (memberId: string) => group.leave({ kind: 'leave', memberIds: [memberId] })[0]?.code;
  const commit = (memberId: string, generation: number) =>
    group.commit({
      kind: 'commit',
      memberId,
      generation,
      offsets: [{ topic: 't', partition: 0, offset: 7 }],
    });
  /** The only member of a stable generation. @returns its id */
  const startOne = () => {
    const id = join('')[0]?.memberId ?? '';
    join(id);
    pass(100);
    sync(id, 1);
    return id;
  };
  return { group, pass, join, beat, leave, commit, startOne };
}

it('a rebalance waits for whom an id was given, as long as the session lasts', () => {
  const { pass, join, startOne } = start();
  const id = startOne();
  expect(join('')[0]).toMatchObject({ code: CODES.MEMBER_ID_REQUIRED, generation: -1, leaderId: '' });
  const again = join(id);
  expect(again).toEqual([]);
  pass(10_000);
  expect(again).toMatchObject([{ code: CODES.NONE, generation: 2 }]);
});

it('who was given an id and leaves makes the group rebalance', () => {
  const { join, beat, leave, startOne } = start();
  const id = startOne();
  const other = join('')[0]?.memberId ?? '';
  expect(beat(id, 1)).toBe(CODES.NONE);
  expect([leave(other), leave(other)]).toEqual([CODES.NONE, CODES.UNKNOWN_MEMBER_ID]);
  expect(beat(id, 1)).toBe(CODES.REBALANCE_IN_PROGRESS);
});

it('an id is of no use after its member has left, and an empty group has a generation of its own', () => {
  const { pass, join, leave, startOne } = start();
  const id = startOne();
  leave(id);
  expect(join(id)[0]).toMatchObject({ code: CODES.UNKNOWN_MEMBER_ID });
  const next = join(join('')[0]?.memberId ?? '');
  pass(100);
  expect(next).toMatchObject([{ code: CODES.NONE, generation: 3 }]);
});

it('who waits for a generation and leaves is told so', () => {
  const { join, leave, startOne } = start();
  const id = startOne();
  join('');
  const waiting = join(id);
  leave(id);
  expect(waiting).toMatchObject([{ code: CODES.UNKNOWN_MEMBER_ID, memberId: '' }]);
});

it('who is no member commits only without a generation, while there is no member', () => {
  const { group, commit, startOne } = start();
  expect(commit('', 0)).toBe(CODES.ILLEGAL_GENERATION);
  expect(commit('', -1)).toBe(CODES.NONE);
  expect(group.committed('t', 0)).toBe(7);
  expect(commit('', 0)).toBe(CODES.UNKNOWN_MEMBER_ID);
  startOne();
  expect(commit('', -1)).toBe(CODES.UNKNOWN_MEMBER_ID);
});
