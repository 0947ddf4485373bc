import { describe, expect, it } from 'vitest';
import { createCommandSession } from '../../../src/control/operations/provider-session.ts';
import { HooklineError } from '../../../src/core/errors.ts';
import { leaseOf } from '../../../src/core/lease.ts';
import type { Outcome } from '../../../src/provider/call-provider.ts';
import { DEFAULT_DIALECT } from '../../../src/provider/dialect.ts';
import { type Clock, systemClock } from '../../../src/runtime/clock.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { until } from '../../support/until.ts';

const outcome = (judgement: Outcome['judgement'], more: Partial<Outcome> = {}): Outcome => ({
  judgement,
  status: null,
  body: undefined,
  why: `it is ${judgement}`,
  retryAfterMs: null,
  ...more,
});

/** A session whose calls end in turn as told. */
function open(ends: (Outcome | Error)[], deadlineMs = 60_000, clock: Clock = systemClock) {
  const stopping = new AbortController();
  const session = createCommandSession({
    call: async () => {
      const end = ends.shift() ?? expect.fail('one call too many');
      if (end instanceof Error) throw end;
      return end;
    },
    clock,
    dialect: DEFAULT_DIALECT,
    deadlineMs,
    lease: leaseOf(stopping.signal),
  });
  return { session, stopping, ends };
}

describe("a command's dealings with the provider", () => {
  it.each(['done', 'gone'] as const)('end when it is %s', async (judgement) => {
    const { session } = open([outcome(judgement, { status: 200 })]);
    expect(await session.untilDone(() => session.api.remove('x'))).toMatchObject({ judgement });
    expect(session.made()).toEqual({ attempts: 1, httpStatus: 200 });
  });

  it.each(['refused', 'unauthorised'] as const)('end when it is %s, and say why', async (judgement) => {
    const { session } = open([outcome(judgement)]);
    await expect(session.untilDone(() => session.api.remove('x'))).rejects.toMatchObject({
      code: 'PROVIDER_REFUSED',
      message: expect.stringContaining(`it is ${judgement}`),
    });
  });

  it('go on through what passes, and keep the last status that came', async () => {
    const unavailable = new HooklineError('TOKEN_UNAVAILABLE');
    const { session } = open([outcome('unknown', { status: 502 }), unavailable, outcome('done')]);
    await session.untilDone(() => session.api.remove('x'));
    expect(session.made()).toEqual({ attempts: 3, httpStatus: 502 });
  });

  it('wait for a JWT that is missing for a moment as for a token', async () => {
    const { session } = open([new HooklineError('JWT_UNAVAILABLE'), outcome('done')]);
    expect(await session.untilDone(() => session.api.remove('x'))).toMatchObject({ judgement: 'done' });
  });

  it('end with a token that is refused', async () => {
    const { session } = open([new HooklineError('TOKEN_REFUSED')]);
    await expect(session.untilDone(() => session.api.remove('x'))).rejects.toMatchObject({
      code: 'TOKEN_REFUSED',
    });
  });

  it('end before a wait that the deadline would not see the end of, with the last reason', async () => {
    const { session } = open([outcome('later', { why: 'busy', retryAfterMs: 300_000 })], 10_000);
    await expect(session.untilDone(() => session.api.remove('x'))).rejects.toMatchObject({
      code: 'PROVIDER_UNAVAILABLE',
      message: expect.stringContaining('busy'),
    });
  });

  it('pause between two tries although Retry-After says 0', async () => {
    const { session, ends } = open(
      [...Array.from({ length: 50 }, () => outcome('later', { retryAfterMs: 0 }))],
      2_000,
    );
    await expect(session.untilDone(() => session.api.remove('x'))).rejects.toMatchObject({
      code: 'PROVIDER_UNAVAILABLE',
    });
    expect(ends.length).toBeGreaterThan(45);
  });

  it('are left when the process stops', async () => {
    const { session, stopping, ends } = open([outcome('later', { retryAfterMs: 30_000 })]);
    const done = session.untilDone(() => session.api.remove('x'));
    await until('it was asked', () => ends.length === 0);
    stopping.abort();
    await expect(done).rejects.toMatchObject({ name: 'AbortError' });
  });

  it.each([
    [429, 'later', false],
    [502, 'unknown', true],
  ] as const)(
    'that are refused after %i say whether an earlier one may have had its effect',
    async (status, judgement, isInDoubt) => {
      const clock = { ...systemClock, sleep: async () => {} };
      const { session } = open([outcome(judgement, { status }), outcome('refused')], 60_000, clock);
      const refused = await session.untilDone(() => session.api.remove('x')).catch(({ message }) => message);
      expect(refused).toContain('it is refused');
      expect(refused.includes('may have had its effect')).toBe(isInDoubt);
    },
  );

  it('count no request that was not sent', async () => {
    const { session } = open([outcome('later', { notSent: true }), outcome('refused')]);
    await session.api.remove('x');
    expect(session.made().attempts).toBe(0);
    await session.api.remove('x');
    expect(session.made().attempts).toBe(1);
  });

  it('count the request that was answered 401 before this one', async () => {
    const { session } = open([
      outcome('done', { afterUnauthorised: true }),
      outcome('later', { notSent: true, afterUnauthorised: true }),
    ]);
    await session.api.remove('x');
    expect(session.made().attempts).toBe(2);
    await session.api.remove('x');
    expect(session.made().attempts).toBe(3);
  });

  it('have a tenth of their time for the closing alone', async () => {
    const clock = manualClock();
    const { session } = open([outcome('done'), outcome('done')], 10_000, clock);
    session.begin(leaseOf(new AbortController().signal));
    await clock.advance(8_999);
    await session.api.remove('x');
    await clock.advance(1);
    await expect(session.api.remove('x')).rejects.toMatchObject({ code: 'COMMAND_TIMED_OUT' });
    await session.close(() => session.api.remove('x'));
    await expect(session.api.remove('x')).rejects.toMatchObject({ code: 'COMMAND_TIMED_OUT' });
  });

  it('end at the deadline also in a process that was frozen over it, before any timer has run', () => {
    let now = 0;
    const { session } = open([], 10_000, { ...manualClock(), now: () => now });
    const lease = session.begin(leaseOf(new AbortController().signal));
    now = 9_999;
    lease.check();
    now = 10_000;
    expect(() => lease.check()).toThrow(expect.objectContaining({ code: 'COMMAND_TIMED_OUT' }));
    expect(lease.signal.aborted).toBe(false);
  });

  it('of the closing are counted, and leave the last answer what it was', async () => {
    const { session } = open([outcome('refused', { status: 307 }), outcome('done', { status: 200 })]);
    await session.api.remove('x');
    await session.close(() => session.api.list());
    expect(session.made()).toEqual({ attempts: 2, httpStatus: 307 });
  });
});
