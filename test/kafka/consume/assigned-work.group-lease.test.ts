import { describe, expect, it } from 'vitest';
import { GroupLease } from '../../../src/kafka/consume/assigned-work.ts';

/** A lease of ten seconds, and the events by which the consumer tells of its requests. */
function open() {
  const listeners = new Map<string, (event: { payload: object }) => void>();
  const consumer = {
    events: { REQUEST: 'request', HEARTBEAT: 'heartbeat', GROUP_JOIN: 'join' },
    on: (name: string, listener: (event: { payload: object }) => void) => void listeners.set(name, listener),
  };
  let now = 0;
  const lease = new GroupLease(consumer as never, 10_000, { now: () => now });
  const tell = (name: string, payload: object = {}) => listeners.get(name)?.({ payload });
  const answered = (apiName: string, duration: number, event?: 'heartbeat' | 'join') => {
    tell('request', { apiName, duration });
    if (event) tell(event);
  };
  const pass = (ms: number) => {
    now += ms;
  };
  return { lease, answered, pass };
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

  it('is not renewed by a no, nor by what says nothing of membership', () => {
    const { lease, answered, pass } = open();
    pass(9_000);
    answered('Heartbeat', 10);
    answered('Fetch', 10);
    pass(1_000);
    expect(lease.isOver).toBe(true);
  });
});
