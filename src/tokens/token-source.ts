import { MAX_TIMER_MS } from '../config/env.ts';
import type { HooklineError } from '../core/errors.ts';
import type { Clock, Timer } from '../runtime/clock.ts';
import { delayBefore } from '../runtime/retry.ts';

/** One access token for all who show it. */
export type TokenSource = {
  /**
   * The token; obtained first where there is none, or its time is up.
   * @throws HooklineError why there is none
   */
  get(): Promise<string>;
  /** The other side did not take this token: the next one who asks gets a fresh one. */
  reject(token: string): void;
  /** The token that is there, without waiting; undefined where there is none. */
  current(): string | undefined;
};

export type ObtainedToken = {
  readonly token: string;
  /** From now on, in seconds. */
  readonly lifetimeS: number;
};

/** What tokens are shown to. */
export type TokenUse = 'kafka' | 'registry';

export type TokenObserver = {
  /** @param endsAt when it ends, in milliseconds since 1970; undefined where the token does not say */
  obtained(endsAt: number | undefined): void;
  failed(error: HooklineError): void;
};

export type TokenCacheDeps = {
  readonly clock: Clock;
  /** @throws HooklineError */
  readonly obtain: () => Promise<ObtainedToken>;
  /** How many seconds before its end a token is replaced. */
  readonly renewBefore: (lifetimeS: number) => number;
  /**
   * Replaces it in time without being asked, and hands out the one before while that fails and it lives. Without it a
   * token is replaced when somebody asks.
   */
  readonly keepsFresh?: boolean;
  /** A token is not replaced for being rejected sooner than this after it was obtained: it would not be another one. */
  readonly minAgeMs?: number;
  readonly observer?: TokenObserver;
};

type Held = ObtainedToken & {
  /** By the clock that only grows: the other one may be set back. */
  readonly since: number;
  readonly renewAt: number;
  readonly usableUntil: number;
};

/**
 * A token that ends sooner is not shown any more. The session with a broker that it begins would end as soon, and kafkajs
 * renews one without end that is shorter than what it renews it before.
 */
export const MIN_LEFT_MS = 5_000;

const RETRY = { firstMs: 1_000, factor: 2, maxMs: 30_000 };

/** Holds what `obtain` gives; those who wait for it at the same time share one request. */
export function createTokenCache(deps: TokenCacheDeps): TokenSource {
  const { clock, observer, keepsFresh = false, minAgeMs = 0 } = deps;
  let held: Held | undefined;
  let obtaining: Promise<Held> | undefined;
  let failures = 0;
  /** Until then nobody asks again, and all hear of the last failure: an endpoint that refuses may lock its client. */
  let rest: { readonly until: number; readonly error: unknown } | undefined;
  let timer: Timer | undefined;

  const schedule = (ms: number) => {
    if (!keepsFresh) return;
    timer?.cancel();
    // A token of a longer life is replaced sooner.
    timer = clock.after(Math.min(ms, MAX_TIMER_MS), () => void renew().catch(() => {}), { ref: false });
  };
  const obtain = async (): Promise<Held> => {
    try {
      const { token, lifetimeS } = await deps.obtain();
      const now = clock.wall();
      const renewAt = now + (lifetimeS - deps.renewBefore(lifetimeS)) * 1_000;
      const endsAt = now + lifetimeS * 1_000;
      held = { token, lifetimeS, since: clock.now(), renewAt, usableUntil: endsAt - MIN_LEFT_MS };
      failures = 0;
      rest = undefined;
      observer?.obtained(endsAt);
      schedule(Math.max(renewAt - now, RETRY.firstMs));
      return held;
    } catch (error) {
      observer?.failed(error as HooklineError);
      const delay = delayBefore(++failures, RETRY, clock.random);
      if (keepsFresh) rest = { until: clock.now() + delay, error };
      schedule(delay);
      throw error;
    } finally {
      obtaining = undefined;
    }
  };
  const renew = (): Promise<Held> => {
    obtaining ??= obtain();
    return obtaining;
  };
  return {
    async get() {
      const now = clock.wall();
      const isFresh = held && now < held.renewAt && (!keepsFresh || now < held.usableUntil);
      if (held && isFresh) return held.token;
      if (keepsFresh && held && now < held.usableUntil) {
        if (failures === 0) void renew().catch(() => {});
        const isRejected = held.renewAt === Number.NEGATIVE_INFINITY;
        if (isRejected && obtaining) await obtaining.catch(() => {});
        return held.token;
      }
      if (rest && clock.now() < rest.until && !obtaining) throw rest.error;
      return (await renew()).token;
    },
    reject(token) {
      if (held?.token !== token || clock.now() - held.since < minAgeMs) return;
      if (!keepsFresh) held = undefined;
      // Where no other can be had, this one serves on: another broker may take it.
      else {
        held = { ...held, renewAt: Number.NEGATIVE_INFINITY };
        void renew().catch(() => {});
      }
    },
    current: () => (held && clock.wall() < held.usableUntil ? held.token : undefined),
  };
}
