import { parseBoundedJson } from '../core/bounded-json.ts';
import type { Tenure } from '../core/tenure.ts';
import type { Http, HttpAnswer, HttpRequest, OnRequest } from './http.ts';
import { type Judgement, judgeStatus, retryAfterMs } from './judge-answer.ts';
import type { TokenSource } from './token-source.ts';

/** One call, judged. `body` is the answer's JSON, or undefined where it has none. */
export type Outcome = {
  readonly judgement: Judgement;
  /** null where no answer came. */
  readonly status: number | null;
  readonly body: unknown;
  /** Why, in words without a secret. */
  readonly why: string;
  readonly retryAfterMs: number | null;
  /** No request was sent: the service is known to be away. */
  readonly notSent?: true;
};

export type ProviderRequest = Pick<HttpRequest, 'method'> & {
  readonly path: string;
  readonly body?: unknown;
  /**
   * How long the caller has time, and may have anything done at all; without it, a call while the service is away ends
   * at once.
   */
  readonly patience?: { readonly leftMs: number; readonly tenure: Tenure };
};

export type ProviderCall = (request: ProviderRequest) => Promise<Outcome>;

const READ_TIMEOUT_MS = 10_000;
/** The list of all subscriptions; what changes one answers with that one. */
const MOST_LIST_BYTES = 8 * 1024 * 1024;
const MOST_CHANGE_BYTES = 256 * 1024;
/** Ten for each of twenty thousand subscriptions. Each value takes tens of bytes, whatever it has in the answer. */
const ANSWER_JSON = { mostValues: 200_000, mostDepth: 1_000 };
/**
 * What changes something is waited for longer: an answer that is given up on may stand for an effect that is still to
 * come, behind everything that is done instead.
 */
const CHANGE_TIMEOUT_MS = 60_000;

/**
 * Calls the management API with the one token; a token that isn't taken is replaced once, by a fresh one.
 * @throws HooklineError TOKEN_REFUSED, TOKEN_UNAVAILABLE, JWT_UNAVAILABLE; what the API does is in the outcome
 */
export function createProviderCall(parts: {
  readonly baseUrl: string;
  readonly http: Http;
  readonly tokens: TokenSource;
  readonly onRequest: OnRequest;
}): ProviderCall {
  const once: ProviderCall = async ({ method, path, body, patience }) => {
    const token = await parts.tokens.get();
    const headers = {
      authorization: `Bearer ${token}`,
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    const request = {
      method,
      url: `${parts.baseUrl}${path}`,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      timeoutMs: timeoutOf(method, patience?.leftMs),
      mostAnswerBytes: method === 'GET' ? MOST_LIST_BYTES : MOST_CHANGE_BYTES,
    };
    // Behind the waits: for the breaker, a token, and whatever the process was frozen for.
    patience?.tenure.check();
    const start = performance.now();
    const outcome = await parts.http.send(request).then(judge, noAnswer);
    const seconds = (performance.now() - start) / 1_000;
    parts.onRequest(`${method} ${path.split('/')[1]}`, outcome.judgement, seconds);
    if (outcome.judgement === 'unauthorised') parts.tokens.reject(token);
    return outcome;
  };
  return async (request) => {
    const outcome = await once(request);
    return outcome.judgement === 'unauthorised' ? once(request) : outcome;
  };
}

function timeoutOf(method: ProviderRequest['method'], leftMs = CHANGE_TIMEOUT_MS): number {
  if (method === 'GET') return READ_TIMEOUT_MS;
  return Math.max(READ_TIMEOUT_MS, Math.min(CHANGE_TIMEOUT_MS, Math.round(leftMs)));
}

function judge(answer: HttpAnswer): Outcome {
  const { status } = answer;
  const body = parseJson(answer.body);
  const isPage = status < 300 && /^\s*</.test(answer.body);
  return {
    // A page is what a proxy or a gateway shows of itself: whether the service was asked at all isn't known.
    judgement: isPage ? 'unknown' : judgeStatus(status),
    status,
    body,
    why: `the payment service answered ${status}${isPage ? ' with a page' : ''}`,
    retryAfterMs: retryAfterMs(answer, Date.now()),
  };
}

/** The bodies of errors aren't shown by the interface, and quoted nowhere: who knows what stands in them. */
function parseJson(text: string): unknown {
  try {
    return parseBoundedJson(text, ANSWER_JSON);
  } catch {
    return undefined;
  }
}

function noAnswer(error: unknown): Outcome {
  const { code, message, name } = error as { code?: string | number; message?: string; name?: string };
  // A DOMException's code is a number that tells nobody anything.
  const why = name === 'TimeoutError' ? 'time-out' : typeof code === 'string' ? code : message;
  return {
    judgement: 'unknown',
    status: null,
    body: undefined,
    why: `the payment service did not answer (${why})`,
    retryAfterMs: null,
  };
}
