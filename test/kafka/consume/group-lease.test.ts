import { describe, expect, it } from 'vitest';
import { GroupLease } from '../../../src/kafka/consume/group-lease.ts';

/** A lease of ten seconds, and the events by which the consumer tells of its requests. */
function open() {
  const listeners = new Map<string, (event: { payload: object }) => void>();
  const consumer = {
    events: { REQUEST: 'request', HEARTBEAT: 'heartbeat', GROUP_JOIN: 'join' },
    on: (name: string, listener: (event: { payload: object }) => void) => void listeners.set(name, listener),
  };
  let now = 0;
  let wall = 1_000_000;
  const lease = new GroupLease(consumer as never, 10_000, { now: () => now, wall: () => wall });
  const tell = (name: string, payload: object = {}) => listeners.get(name)?.({ payload });
  /** @param suspended how long the machine was suspended since the request, which its duration leaves out */
  const answered = (apiName: string, duration: number, event?: 'heartbeat' | 'join', suspended = 0) => {
    tell('request', { apiName, duration, createdAt: wall - duration - suspended });
    if (event) tell(event);
  };
  const pass = (ms: number) => {
    now += ms;
    wall += ms;
  };
  /** The machine was suspended, or its clock was set. */
  const jump = (ms: number) => {
    wall += ms;
  };
  return { lease, answered, pass, jump };
}

describe("a member's lease", () => {
  it('is over when nothing was heard of the group for the time of a session', () => {
    const { lease, pass } = open();
    pass(9_999);
    expect(lease.isOver).toBe(false);
    pass(1);
    expect(lease.isOver).toBe(true);
  });

  it.each([
    ['Heartbeat', 'heartbeat'],
    ['SyncGroup', 'join'],
  ] as const)('is renewed by a %s, from when that was sent', (apiName, event) => {
    const { lease, answered, pass } = open();
    pass(9_000);
    answered(apiName, 4_000, event);
    pass(5_999);
    expect(lease.isOver).toBe(false);
    pass(1);
    expect(lease.isOver).toBe(true);
  });

  it('is not renewed by an answer that was read after the process had been frozen', () => {
    const { lease, answered, pass } = open();
    pass(60_000);
    answered('Heartbeat', 59_000, 'heartbeat');
    expect(lease.isOver).toBe(true);
    answered('SyncGroup', 10, 'join');
    expect(lease.isOver).toBe(false);
  });

  it('is over behind a suspension, in which one clock stands still, until the group is heard of again', () => {
    const { lease, answered, pass, jump } = open();
    pass(5_000);
    jump(5_000);
    expect([lease.isOver, lease.leftMs]).toEqual([true, 0]);
    // It was answered before, and is read now.
    answered('Heartbeat', 1, 'heartbeat', 10_000);
    expect(lease.isOver).toBe(true);
    answered('Heartbeat', 10, 'heartbeat');
    expect(lease.isOver).toBe(false);
  });

  it('is no longer for a clock that is set back', () => {
    const { lease, pass, jump } = open();
    jump(-3_600_000);
    pass(9_999);
    expect(lease.isOver).toBe(false);
    pass(1);
    expect(lease.isOver).toBe(true);
  });

  it('is not renewed by a no, nor by what says nothing of membership', () => {
    const { lease, answered, pass } = open();
    pass(9_000);
    answered('Heartbeat', 10);
    answered('Fetch', 10);
    pass(1_000);
    expect(lease.isOver).toBe(true);
  });
});
