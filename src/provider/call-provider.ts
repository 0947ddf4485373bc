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
};

export type ProviderCall = (
  request: Pick<HttpRequest, 'method'> & { readonly path: string; readonly body?: unknown },
) => Promise<Outcome>;

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
  const once: ProviderCall = async ({ method, path, body }) => {
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
    };
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

function judge(answer: HttpAnswer): Outcome {
  const { status } = answer;
  const body = parseJson(answer.body);
  return {
    judgement: judgeStatus(status),
    status,
    body,
    why: `the payment service answered ${status}`,
    retryAfterMs: retryAfterMs(answer, Date.now()),
  };
}

/** The bodies of errors aren't shown by the interface, and quoted nowhere: who knows what stands in them. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
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
