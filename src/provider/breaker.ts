import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../core/errors.ts';
import type { Outcome, ProviderCall } from './call-provider.ts';

export type Breaker = {
  /** The call behind the breaker: while that is open it waits, as long as its caller has patience. */
  readonly call: ProviderCall;
  stop(): Promise<void>;
};

/** Calls one after the other that came to nothing before the service is taken to be away. */
const OPENS_AFTER = 5;
/** Before each look; the last one for all that follow. */
const LOOK_AFTER_MS = [1_000, 2_000, 4_000, 5_000];

/**
 * Keeps calls from a payment service that is away, and lets them go on when it is back. Whether it is back is found by
 * a look of its own, at the list, which changes nothing: were it left to the next call that waits, one ref whose calls
 * hang could hold up all others. So this isn't one of the libraries' breakers, which try the next call.
 */
export function createBreaker(parts: {
  readonly call: ProviderCall;
  /** Told when it opens, with the reason, and with null when it closes. */
  readonly onChange: (why: string | null) => void;
  readonly lookAfterMs?: readonly number[];
}): Breaker {
  const { onChange, lookAfterMs = LOOK_AFTER_MS } = parts;
  const stopping = new AbortController();
  let failures = 0;
  /** Looks since the last call that came to something: one that opens again and again is looked at less often. */
  let looked = 0;
  let open: { readonly why: string; readonly closed: Promise<void> } | undefined;

  const through: ProviderCall = async (request) => {
    try {
      const outcome = await parts.call(request);
      note(isAway(outcome) ? outcome.why : null);
      return outcome;
    } catch (error) {
      if (hasCode(error, 'TOKEN_UNAVAILABLE')) note((error as Error).message);
      throw error;
    }
  };
  const note = (why: string | null) => {
    if (why === null) {
      failures = 0;
      if (!open) looked = 0;
    } else if (++failures >= OPENS_AFTER && !open && !stopping.signal.aborted) {
      const closed = lookUntilBack();
      closed.catch(() => {});
      open = { why, closed };
      onChange(why);
    }
  };
  const lookUntilBack = async () => {
    for (;;) {
      const pause = lookAfterMs[Math.min(looked++, lookAfterMs.length - 1)];
      await sleep(pause, undefined, { signal: stopping.signal });
      const isBack = await parts.call({ method: 'GET', path: '/subscriptions' }).then(
        (outcome) => !isAway(outcome),
        (error) => !hasCode(error, 'TOKEN_UNAVAILABLE'),
      );
      if (isBack) break;
    }
    failures = 0;
    open = undefined;
    onChange(null);
  };
  return {
    async call(request) {
      const { patience } = request;
      const until = performance.now() + (patience?.leftMs ?? 0);
      while (open) {
        const leftMs = until - performance.now();
        if (!patience || leftMs <= 0) return notSent(open.why);
        await Promise.race([
          open.closed,
          sleep(leftMs, undefined, { signal: patience.lease.signal, ref: false }),
        ]);
      }
      const leftMs = Math.max(0, until - performance.now());
      return through({ ...request, ...(patience && { patience: { ...patience, leftMs } }) });
    },
    async stop() {
      stopping.abort();
      await open?.closed.catch(() => {});
    },
  };
}

/** No answer, or one that a service in trouble gives; a no, however often it comes, is an answer. */
const isAway = ({ judgement }: Outcome) => judgement === 'unknown';

const notSent = (why: string): Outcome => ({
  ...{ judgement: 'later', status: null, body: undefined, retryAfterMs: null, notSent: true },
  why,
});
