import { parseBoundedJson } from '../core/json.ts';
import type { HttpAnswer } from '../runtime/http-client.ts';

/** The body of a token endpoint's answer is never larger. */
export const MAX_ANSWER_BYTES = 64 * 1024;
/** From the connection to the last byte of the answer. */
export const TOKEN_TIMEOUT_MS = 10_000;

const ANSWER_JSON = { maxValues: 1_000, maxDepth: 100 };
/** Where the answer doesn't say how long the token lives. */
const DEFAULT_LIFETIME_S = 300;
/** Statuses below 500 that say nothing about the request itself. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429]);
/**
 * Those of the protocol's own refusals (RFC 6749, 5.2), and of whoever may not ask. Any other may be of something before the
 * endpoint: a page that is not found, a redirect.
 */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403]);

/** What a token endpoint answered (RFC 6749, section 5): a token, or why there is none. It quotes nothing of a token. */
export type TokenAnswer =
  | { readonly token: string; readonly lifetimeS: number; readonly scopes: readonly string[] | undefined }
  | {
      readonly fault: string;
      /** It will not answer otherwise until somebody changes something. */
      readonly isRefusal: boolean;
    };

/** It goes into a header: what can't stand there, or is larger than servers take, is as good as none. */
export const isToken = (token: unknown): token is string =>
  typeof token === 'string' && /^[\x21-\x7e]{1,16384}$/.test(token);

/** Codes of RFC 6749, 4.1.2.1 and 5.2: a gateway's own `error` is none. */
const REFUSAL_CODES: ReadonlySet<string | undefined> = new Set([
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'invalid_scope',
  'access_denied',
  'unauthorized_client',
  'unsupported_grant_type',
]);

/** Whether the endpoint itself refuses, and will as long as nobody changes something. */
const isRefusal = ({ status, body }: Pick<HttpAnswer, 'status' | 'body'>): boolean =>
  status !== 200 &&
  status < 500 &&
  !PASSING.has(status) &&
  (REFUSALS.has(status) || REFUSAL_CODES.has(errorCodeIn(body)));

export function readTokenAnswer({ status, body }: Pick<HttpAnswer, 'status' | 'body'>): TokenAnswer {
  if (status !== 200) return { fault: `status ${status}`, isRefusal: isRefusal({ status, body }) };
  const { access_token: token, token_type: type, expires_in: expiresIn, scope } = parseObject(body);
  if (!isToken(token)) return { fault: 'the answer has no access_token', isRefusal: false };
  // RFC 6749, 7.1: a token of a type that isn't understood must not be used. Here it would be sent as a bearer token.
  if (typeof type === 'string' && type.toLowerCase() !== 'bearer')
    return { fault: 'the token_type of the answer is not bearer', isRefusal: true };
  const scopes = typeof scope === 'string' ? scopesIn(scope) : undefined;
  return { token, lifetimeS: lifetimeOf(expiresIn), scopes };
}

/** They are separated by spaces (RFC 6749, 3.3). */
export const scopesIn = (text: string): string[] => text.split(' ').filter((scope) => scope !== '');

/** Seconds, as a number or as its digits; anything else says nothing. */
function lifetimeOf(expiresIn: unknown): number {
  const isSaid = typeof expiresIn === 'number' || (typeof expiresIn === 'string' && expiresIn.trim() !== '');
  const seconds = isSaid ? Number(expiresIn) : NaN;
  return Number.isFinite(seconds) && seconds > 0 ? seconds : DEFAULT_LIFETIME_S;
}

/** The error code of an answer (RFC 6749, 5.2), such as `invalid_client`; undefined where it has none. */
export function errorCodeIn(body: string): string | undefined {
  const { error } = parseObject(body);
  return typeof error === 'string' && /^[a-z_]{1,64}$/.test(error) ? error : undefined;
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const json: unknown = parseBoundedJson(text, ANSWER_JSON);
    return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
