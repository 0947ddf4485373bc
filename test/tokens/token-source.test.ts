import { describe, expect, it } from 'vitest';
import { HooklineError } from '../../src/core/errors.ts';
import { createTokenCache, MIN_LEFT_MS, type TokenCacheDeps } from '../../src/tokens/token-source.ts';
import { manualClock } from '../support/manual-clock.ts';

const LIFE_S = 60;
const LIFE_MS = LIFE_S * 1_000;

function open(more: Partial<TokenCacheDeps> = {}) {
  const clock = manualClock();
  const seen: string[] = [];
  const state = { asked: 0, fault: undefined as Error | undefined };
  const tokens = createTokenCache({
    clock,
    obtain: async () => {
      state.asked++;
      if (state.fault) throw state.fault;
      return { token: `token-${state.asked}`, lifetimeS: LIFE_S };
    },
    renewBefore: (lifetimeS) => lifetimeS / 3,
    observer: {
      obtained: (endsAt) => seen.push(`until ${(endsAt ?? 0) - clock.wall()}`),
      failed: ({ code }) => seen.push(code),
    },
    ...more,
  });
  return { clock, tokens, state, seen };
}

const unavailable = new HooklineError('ACCESS_TOKEN_UNAVAILABLE');

describe('a token that is kept fresh', () => {
  it('is replaced in time without being asked for, and the one before serves while that fails', async () => {
    const { clock, tokens, state, seen } = open({ keepsFresh: true });
    expect(await Promise.all([tokens.get(), tokens.get()])).toEqual(['token-1', 'token-1']);
    await clock.advance((LIFE_MS * 2) / 3);
    expect([await tokens.get(), state.asked]).toEqual(['token-2', 2]);
    state.fault = unavailable;
    await clock.advance((LIFE_MS * 2) / 3);
    expect([await tokens.get(), tokens.current()]).toEqual(['token-2', 'token-2']);
    await clock.advance(LIFE_MS / 3 - MIN_LEFT_MS);
    expect(tokens.current()).toBeUndefined();
    await expect(tokens.get()).rejects.toBe(unavailable);
    state.fault = undefined;
    await clock.advance(30_000);
    expect(tokens.current()).toMatch(/^token-/);
    expect(seen.filter((one) => one === `until ${LIFE_MS}`)).toHaveLength(3);
    expect(seen).toContain('ACCESS_TOKEN_UNAVAILABLE');
  });

  it('is asked for again at growing distances while it cannot be obtained', async () => {
    const { clock, tokens, state } = open({ keepsFresh: true });
    state.fault = unavailable;
    await expect(tokens.get()).rejects.toBe(unavailable);
    await clock.advance(10 * 60_000);
    // 1, 2, 4 … 30 s, each up to a quarter shorter.
    expect(state.asked).toBeGreaterThan(20);
    expect(state.asked).toBeLessThan(35);
  });
});

describe('a token that cannot be obtained', () => {
  it('is not asked for again by each who wants it: all hear why until it is tried again', async () => {
    const { clock, tokens, state } = open({ keepsFresh: true });
    state.fault = unavailable;
    for (let n = 0; n < 100; n++) await expect(tokens.get()).rejects.toBe(unavailable);
    expect(state.asked).toBe(1);
    state.fault = undefined;
    await clock.advance(1_000);
    expect(await tokens.get()).toBe('token-2');
  });

  it.each([0.0001, 1, 4])(
    'for long, as it lives for %s s, is obtained once a second at the most',
    async (lifetimeS) => {
      let asked = 0;
      const obtain = async () => ({ token: `token-${++asked}`, lifetimeS });
      const { clock, tokens } = open({ keepsFresh: true, obtain });
      await tokens.get();
      await clock.advance(10_000);
      expect(asked).toBeLessThanOrEqual(11);
    },
  );

  it('is not shown while it is about to end', async () => {
    let asked = 0;
    const { clock, tokens } = open({
      keepsFresh: true,
      obtain: async () => {
        if (++asked > 1) throw unavailable;
        return { token: 'token-1', lifetimeS: 9 };
      },
    });
    expect(await tokens.get()).toBe('token-1');
    await clock.advance(5_500);
    await expect(tokens.get()).rejects.toBe(unavailable);
  });
});

describe('a token that is kept fresh and not taken', () => {
  it('is replaced at once, before anybody asks', async () => {
    const { clock, tokens } = open({ keepsFresh: true });
    tokens.reject(await tokens.get());
    await clock.advance(0);
    expect(tokens.current()).toBe('token-2');
  });
});

describe('a token that is not taken', () => {
  it('is replaced, once', async () => {
    const { tokens } = open();
    const first = await tokens.get();
    tokens.reject(first);
    const second = await tokens.get();
    tokens.reject(first);
    expect([first, second, await tokens.get()]).toEqual(['token-1', 'token-2', 'token-2']);
  });

  it('is not replaced as long as it is new: the next one would be no other', async () => {
    const { clock, tokens } = open({ minAgeMs: 5_000 });
    const first = await tokens.get();
    tokens.reject(first);
    expect(await tokens.get()).toBe(first);
    await clock.advance(5_000);
    tokens.reject(first);
    expect(await tokens.get()).toBe('token-2');
  });

  it('is replaced where the time of day was set back meanwhile', async () => {
    const clock = manualClock();
    const { wall } = clock;
    const { tokens } = open({ clock, minAgeMs: 5_000 });
    tokens.reject(await tokens.get());
    await clock.advance(5_000);
    clock.wall = () => wall() - 3_600_000;
    tokens.reject(await tokens.get());
    expect(await tokens.get()).toBe('token-2');
  });
});
