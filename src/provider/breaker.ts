import { hasCode, textWithCode } from '../core/errors.ts';
import type { Clock } from '../runtime/clock.ts';
import { notSent, type Outcome, type ProviderCall } from './call-provider.ts';

export type Breaker = {
  /** The call behind the breaker: while that is open it waits, as long as its caller has patience. */
  readonly call: ProviderCall;
  stop(): Promise<void>;
};

/** After so many failed calls in a row a probe finds out whether the provider is unavailable. */
const OPENS_AFTER = 5;
/** The pauses before the probes; the last one is for all that follow. */
const PROBE_AFTER_MS = [1_000, 2_000, 4_000, 5_000];

/**
 * Keeps calls from a provider that is unavailable, and lets them through when it is back. A probe of its own finds out
 * both: it asks for the list, which changes nothing. A provider that fails at some calls alone, such as one team's, goes on
 * being asked. If the next call that waits were the probe, one ref whose calls hang could hold up all others. So this is not one
 * of the libraries' breakers, which try the next call.
 */
export function createBreaker(deps: {
  readonly call: ProviderCall;
  readonly clock: Clock;
  /** Gets the reason when it opens, and null when it closes. */
  readonly onChange: (why: string | null) => void;
  readonly probeAfterMs?: readonly number[];
}): Breaker {
  const { onChange, clock, probeAfterMs = PROBE_AFTER_MS } = deps;
  const stopping = new AbortController();
  let failures = 0;
  /** Probes since the last call that came to something: a provider that fails again and again is probed less often. */
  let probes = 0;
  let open: { readonly why: string; readonly closed: Promise<void> } | undefined;
  let isSuspected = false;

  const through: ProviderCall = async (request) => {
    try {
      const outcome = await deps.call(request);
      note(isUnavailable(outcome) ? outcome.why : null);
      return outcome;
    } catch (error) {
      if (hasNoToken(error)) note(textWithCode(error));
      throw error;
    }
  };
  const note = (why: string | null) => {
    if (why === null) {
      failures = 0;
      if (!open) probes = 0;
    } else if (++failures >= OPENS_AFTER && !open && !stopping.signal.aborted) {
      if (!isSuspected) void openUnlessAvailable(why);
    }
  };
  const openUnlessAvailable = async (why: string) => {
    isSuspected = true;
    const isAvailable = await probe();
    isSuspected = false;
    // Meanwhile it may have answered others.
    const isOver = isAvailable || failures < OPENS_AFTER || stopping.signal.aborted;
    failures = 0;
    if (isOver) return;
    const closed = probeUntilAvailable();
    closed.catch(() => {});
    open = { why, closed };
    onChange(why);
  };
  const probe = () =>
    deps.call({ method: 'GET', path: '/subscriptions' }).then(
      (outcome) => !isUnavailable(outcome),
      (error) => !hasNoToken(error),
    );
  const probeUntilAvailable = async () => {
    for (;;) {
      const pause = probeAfterMs[Math.min(probes++, probeAfterMs.length - 1)] ?? 0;
      await clock.sleep(pause, stopping);
      if (await probe()) break;
    }
    failures = 0;
    open = undefined;
    onChange(null);
  };
  return {
    async call(request) {
      const { patience } = request;
      const until = clock.now() + (patience?.leftMs ?? 0);
      while (open) {
        const leftMs = until - clock.now();
        if (!patience || leftMs <= 0) return notSent(open.why);
        await Promise.race([open.closed, clock.sleep(leftMs, { signal: patience.lease.signal, ref: false })]);
      }
      const leftMs = Math.max(0, until - clock.now());
      return through({ ...request, ...(patience && { patience: { ...patience, leftMs } }) });
    },
    async stop() {
      stopping.abort();
      await open?.closed.catch(() => {});
    },
  };
}

/** No answer, or one that a provider in trouble gives, or no way to it; a refusal, however often it comes, is an answer. */
const isUnavailable = ({ judgement, isProxyFault }: Outcome) =>
  judgement === 'unknown' || isProxyFault === true;

/** No request can be sent, whichever it is: the token endpoint does not answer, or there is no JWT for it. */
const hasNoToken = (error: unknown) => hasCode(error, 'TOKEN_UNAVAILABLE', 'JWT_UNAVAILABLE');
