import { MAX_TIMER_MS } from '../config/env.ts';
import { parseBoundedJson } from '../core/json.ts';
import type { Lease } from '../core/lease.ts';
import type { Clock } from '../runtime/clock.ts';
import { ProxyFault } from '../runtime/connection-fault.ts';
import { type Http, type HttpAnswer, type HttpRequest, retryAfterMs } from '../runtime/http-client.ts';
import type { TokenSource } from '../tokens/token-source.ts';
import { type Judgement, judgeStatus, type OnRequest } from './judge-answer.ts';

/** One call, judged. `body` is the answer's JSON, or undefined where it has none. */
export type Outcome = {
  readonly judgement: Judgement;
  /** null where no answer came. */
  readonly status: number | null;
  readonly body: unknown;
  /** Why, in words without a secret. */
  readonly why: string;
  readonly retryAfterMs: number | null;
  /** No request was sent: the provider is known to be unavailable, or cannot be reached through the proxy. */
  readonly notSent?: true;
  /** Why no request was sent is that the proxy gives no connection, which counts as the provider's absence. */
  readonly isProxyFault?: true;
  /** A request before this one was answered 401: its token was no longer taken. */
  readonly afterUnauthorised?: true;
  /** No answer was waited for as long as one usually is: the caller's time was up before. */
  readonly timedOutEarly?: true;
};

export type ProviderRequest = Pick<HttpRequest, 'method'> & {
  readonly path: string;
  readonly body?: unknown;
  /**
   * How long the caller has time, and may have anything done at all; without it, a call ends at once while the
   * provider is unavailable.
   */
  readonly patience?: { readonly leftMs: number; readonly lease: Lease };
};

export type ProviderCall = (request: ProviderRequest) => Promise<Outcome>;

/** The list of all subscriptions; what changes one answers with that one. */
const MAX_LIST_BYTES = 8 * 1024 * 1024;
const MAX_CHANGE_BYTES = 256 * 1024;
/** Ten for each of twenty thousand subscriptions. Each value takes tens of bytes, whatever it has in the answer. */
const ANSWER_JSON = { maxValues: 200_000, maxDepth: 1_000 };
/**
 * What changes something is waited for longer: an answer that is given up on may stand for an effect that is still to
 * come, behind everything that is done instead. Where the caller's time is up before, the outcome says so.
 */
export const CHANGE_TIMEOUT_MS = 60_000;
const TIMEOUT_MS = {
  GET: 10_000,
  POST: CHANGE_TIMEOUT_MS,
  PUT: CHANGE_TIMEOUT_MS,
  DELETE: CHANGE_TIMEOUT_MS,
} as const;

/**
 * Calls the management API with the one token; a token that isn't taken is replaced once, by a fresh one.
 * @throws HooklineError TOKEN_REFUSED, TOKEN_UNAVAILABLE, JWT_UNAVAILABLE; what the API does is in the outcome
 */
export function createProviderCall(deps: {
  readonly clock: Clock;
  readonly baseUrl: string;
  readonly http: Http;
  readonly tokens: TokenSource;
  readonly onRequest: OnRequest;
}): ProviderCall {
  const { clock } = deps;
  const once = async ({ method, path, body, patience }: ProviderRequest, until: number): Promise<Outcome> => {
    const token = await withinMs(deps.tokens.get(), until - clock.now(), clock);
    if (token === null) return notSent('no access token came in time');
    const headers = {
      authorization: `Bearer ${token}`,
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    const request = {
      method,
      url: `${deps.baseUrl}${path}`,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      timeoutMs: Math.max(1, Math.min(TIMEOUT_MS[method], Math.round(until - clock.now()))),
      maxAnswerBytes: method === 'GET' ? MAX_LIST_BYTES : MAX_CHANGE_BYTES,
    };
    // Behind the waits: for the breaker, a token, and whatever the process was frozen for.
    patience?.lease.check();
    const start = clock.now();
    const isCut = request.timeoutMs < TIMEOUT_MS[method];
    const outcome = await deps.http.send(request).then(
      (answer) => judge(answer, clock.wall()),
      (error) => noAnswer(error, isCut),
    );
    const seconds = (clock.now() - start) / 1_000;
    deps.onRequest(`${method} ${path.split('/')[1]}`, outcome.judgement, seconds);
    if (outcome.judgement === 'unauthorised') deps.tokens.reject(token);
    return outcome;
  };
  return async (request) => {
    const until = clock.now() + (request.patience?.leftMs ?? Number.POSITIVE_INFINITY);
    const outcome = await once(request, until);
    if (outcome.judgement !== 'unauthorised') return outcome;
    return { ...(await once(request, until)), afterUnauthorised: true };
  };
}

/** null where it isn't there in time: it is fetched for all who wait, and goes on being fetched. */
async function withinMs<T>(promise: Promise<T>, ms: number, clock: Clock): Promise<T | null> {
  if (ms > MAX_TIMER_MS) return promise;
  const done = new AbortController();
  const late = clock.sleep(Math.max(0, ms), done).then(
    () => null,
    () => null,
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    done.abort();
  }
}

export const notSent = (why: string): Outcome => ({
  judgement: 'later',
  status: null,
  body: undefined,
  why,
  retryAfterMs: null,
  notSent: true,
});

function judge(answer: HttpAnswer, now: number): Outcome {
  const { status } = answer;
  const body = parseJson(answer.body);
  const isPage = status < 300 && /^\s*</.test(answer.body);
  return {
    // A page is what a proxy or a gateway shows of itself: whether the provider was asked at all isn't known.
    judgement: isPage ? 'unknown' : judgeStatus(status),
    status,
    body,
    why: `the provider answered ${status}${isPage ? ' with a page' : ''}`,
    retryAfterMs: retryAfterMs(answer, now),
  };
}

/** The bodies of errors aren't shown by the interface, and quoted nowhere: who knows what stands in them. */
function parseJson(text: string): unknown {
  try {
    // A byte order mark may be ignored (RFC 8259, section 8.1).
    return parseBoundedJson(text.replace(/^\ufeff/, ''), ANSWER_JSON);
  } catch {
    return undefined;
  }
}

function noAnswer(error: unknown, isCut: boolean): Outcome {
  if (error instanceof ProxyFault) return { ...notSent(error.message), isProxyFault: true };
  const { code, message, name } = error as { code?: string | number; message?: string; name?: string };
  // A DOMException's code is a number without a meaning here.
  const why = name === 'TimeoutError' ? 'time-out' : typeof code === 'string' ? code : message;
  return {
    judgement: 'unknown',
    status: null,
    body: undefined,
    why: `the provider did not answer (${why})`,
    retryAfterMs: null,
    ...(isCut && name === 'TimeoutError' && { timedOutEarly: true }),
  };
}
