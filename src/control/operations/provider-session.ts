import { HooklineError, hasCode } from '../../core/errors.ts';
import type { Lease } from '../../core/lease.ts';
import type { Outcome, ProviderCall } from '../../provider/call-provider.ts';
import type { Dialect } from '../../provider/dialect.ts';
import { isWithoutEffect } from '../../provider/judge-answer.ts';
import { createProviderApi, type ProviderApi } from '../../provider/provider-api.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type Backoff, delayBefore } from '../../runtime/retry.ts';

/** One command's calls of the provider: counted, and bounded by the command's deadline. */
export type CommandSession = {
  readonly api: ProviderApi;
  /** How long a command may take from its start to its outcome. */
  readonly deadlineMs: number;
  /** Requests made so far, and the last answer's status. */
  readonly made: () => { readonly attempts: number; readonly httpStatus: number | null };
  /**
   * Repeats a call that is safe to repeat until it is done, or what it asks about is gone.
   * @throws HooklineError PROVIDER_REFUSED, PROVIDER_UNAVAILABLE, TOKEN_REFUSED
   */
  untilDone<O extends Outcome>(call: () => Promise<O>): Promise<O>;
  /**
   * Starts the command's time, and gives the lease that ends at the deadline, with COMMAND_TIMED_OUT. The wait before,
   * for other commands and for the state, does not count.
   */
  begin<T extends Lease>(outer: T): T;
  /** The command has its outcome: nothing ends it any more. */
  end(): void;
  /** Makes sure of an answer. The result does not mention what this is answered, but counts its requests. */
  aside<T>(act: () => Promise<T>): Promise<T>;
  /**
   * Cleans up, in the time that is reserved for it behind the deadline of everything else. The result does not mention
   * it: the command's last answer stays the one before.
   */
  close<T>(act: () => Promise<T>): Promise<T>;
  /** Waits before the next try, or throws PROVIDER_UNAVAILABLE where the deadline comes first. */
  waitBefore(attempt: number, outcome: Pick<Outcome, 'why' | 'retryAfterMs'>): Promise<void>;
};

/** 0.5, 1, 2, 4, 8, 15, 15 … s, each shortened by up to a quarter. */
const BACKOFF: Backoff = { firstMs: 500, factor: 2, maxMs: 15_000 };

/** Reserved of the deadline, a tenth at most, for ending a command: one more check, and storing the state. */
const CLOSING_MS = 5_000;

export function createCommandSession(deps: {
  readonly clock: Clock;
  readonly call: ProviderCall;
  readonly dialect: Dialect;
  readonly deadlineMs: number;
  /** Ends when the process stops, or the command is another's: it is then left to that one. */
  readonly lease: Lease;
}): CommandSession {
  const { deadlineMs, clock } = deps;
  const closingMs = Math.min(CLOSING_MS, deadlineMs / 10);
  const timeUp = new AbortController();
  const release: (() => void)[] = [];
  let endsAt = clock.now() + deadlineMs;
  let isClosing = false;
  let attempts = 0;
  let httpStatus: number | null = null;
  const leftMs = () => endsAt - clock.now() - (isClosing ? 0 : closingMs);
  const begin = <T extends Lease>(outer: T): T => {
    endsAt = clock.now() + deadlineMs;
    const timer = clock.after(deadlineMs, () => timeUp.abort(new HooklineError('COMMAND_TIMED_OUT')));
    const over = () => timeUp.abort(outer.signal.reason);
    outer.signal.addEventListener('abort', over, { once: true });
    release.push(
      () => timer.cancel(),
      () => outer.signal.removeEventListener('abort', over),
    );
    const check = () => {
      outer.check();
      timeUp.signal.throwIfAborted();
      if (clock.now() >= endsAt) throw new HooklineError('COMMAND_TIMED_OUT');
    };
    return {
      ...outer,
      signal: timeUp.signal,
      check,
      leftMs: () => Math.min(endsAt - clock.now(), outer.leftMs?.() ?? Number.POSITIVE_INFINITY),
    };
  };
  const counted: ProviderCall = async (request) => {
    // However fast the answers are: a thousand of them take time too.
    if (leftMs() <= 0) throw new HooklineError('COMMAND_TIMED_OUT');
    try {
      const patience = { leftMs: leftMs(), lease: deps.lease };
      const outcome = await deps.call({ ...request, patience });
      attempts += (outcome.notSent ? 0 : 1) + (outcome.afterUnauthorised ? 1 : 0);
      httpStatus = outcome.status ?? httpStatus;
      return outcome;
    } catch (error) {
      attempts++;
      // No token, no request: that equals an answer to try again later.
      if (!hasCode(error, 'TOKEN_UNAVAILABLE', 'JWT_UNAVAILABLE')) throw error;
      return { judgement: 'later', status: null, body: undefined, why: error.message, retryAfterMs: null };
    }
  };
  const waitBefore: CommandSession['waitBefore'] = async (attempt, { why, retryAfterMs }) => {
    // Retry-After is the minimum, and may be 0: there is a pause all the same.
    const wait = Math.max(retryAfterMs ?? 0, delayBefore(attempt, BACKOFF, clock.random));
    if (wait > leftMs()) throw new HooklineError('PROVIDER_UNAVAILABLE', why);
    await clock.sleep(wait, deps.lease);
  };
  const aside: CommandSession['aside'] = async (act) => {
    const said = httpStatus;
    try {
      return await act();
    } finally {
      httpStatus = said;
    }
  };
  return {
    api: createProviderApi(counted, deps.dialect),
    deadlineMs,
    made: () => ({ attempts, httpStatus }),
    begin,
    end() {
      for (const one of release) one();
    },
    waitBefore,
    aside,
    async close(act) {
      isClosing = true;
      try {
        return await aside(act);
      } finally {
        isClosing = false;
      }
    },
    async untilDone(call) {
      let doubt: string | null = null;
      for (let attempt = 1; ; attempt++) {
        const outcome = await call();
        if (outcome.judgement === 'done' || outcome.judgement === 'gone') return outcome;
        throwIfRefused(outcome, doubt);
        if (!isWithoutEffect(outcome)) doubt = outcome.why;
        await waitBefore(attempt, outcome);
      }
    },
  };
}

/**
 * @param doubt the last answer that left open whether the call had its effect
 * @throws HooklineError PROVIDER_REFUSED
 */
function throwIfRefused({ judgement, why }: Outcome, doubt: string | null): void {
  if (judgement !== 'refused' && judgement !== 'unauthorised') return;
  const earlier = doubt === null ? '' : `; an earlier call may have had its effect: ${doubt}`;
  throw new HooklineError('PROVIDER_REFUSED', `${why}${earlier}`);
}
