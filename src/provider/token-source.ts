import { readFile } from 'node:fs/promises';
import { importPKCS8, SignJWT } from 'jose';
import { HooklineError } from '../core/errors.ts';
import { parseBoundedJson } from '../core/json.ts';
import type { Clock } from '../runtime/clock.ts';
import { type Http, type HttpAnswer, judgeStatus, type OnRequest, retryAfterMs } from './http.ts';
import type { ProviderSettings } from './settings.ts';

/** One access token for all callers. */
export type TokenSource = {
  /**
   * The token, fetched where there is none or its time is nearly up. Throws TOKEN_REFUSED,
   * TOKEN_UNAVAILABLE, JWT_UNAVAILABLE.
   */
  get(): Promise<string>;
  /** The provider didn't take this token: the next call fetches a fresh one. */
  reject(token: string): void;
};

export type TokenSettings = {
  readonly authUrl: string;
  readonly scope: string;
  readonly grantType: string;
  readonly clientAssertionType: string;
};

/** A token is renewed when so much of its life is left, or a tenth of it where that is less. */
const RENEW_BEFORE_S = 60;
/** Where the answer doesn't say how long it lives. */
const DEFAULT_LIFETIME_S = 300;

const TOKEN_TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 64 * 1024;
const ANSWER_JSON = { maxValues: 1_000, maxDepth: 100 };

/** Statuses below 500 that say nothing about the request itself. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429]);

type Held = { readonly token: string; readonly renewAt: number };

export function createTokenSource(deps: {
  readonly clock: Clock;
  readonly settings: TokenSettings;
  readonly http: Http;
  readonly assertion: Assertion;
  /** Scopes that were asked for and not granted. */
  readonly onNarrowerScope: (missing: readonly string[]) => void;
  readonly onRequest?: OnRequest;
  readonly onToken?: () => void;
}): TokenSource {
  const { settings, clock } = deps;
  let held: Held | undefined;
  let fetching: Promise<Held> | undefined;
  let restUntil = 0;
  const fetch = async (): Promise<Held> => {
    try {
      const reply = await requestToken(deps);
      restUntil = clock.wall() + (reply.status === 200 ? 0 : (retryAfterMs(reply, clock.wall()) ?? 0));
      const answer = readTokenAnswer(reply);
      const missing = settings.scope
        .split(' ')
        .filter((scope) => answer.scope && !answer.scope.includes(scope));
      if (missing.length > 0) deps.onNarrowerScope(missing);
      const margin = Math.min(RENEW_BEFORE_S, answer.expiresIn / 10);
      deps.onToken?.();
      held = { token: answer.token, renewAt: clock.wall() + (answer.expiresIn - margin) * 1_000 };
      return held;
    } finally {
      fetching = undefined;
    }
  };
  return {
    async get() {
      if (held && clock.wall() < held.renewAt) return held.token;
      const restMs = restUntil - clock.wall();
      if (restMs > 0)
        throw new HooklineError('TOKEN_UNAVAILABLE', `asked to wait ${Math.ceil(restMs / 1_000)} s longer`);
      // One request for all who wait.
      fetching ??= fetch();
      return (await fetching).token;
    },
    reject(token) {
      if (held?.token === token) held = undefined;
    },
  };
}

/** POST {auth_url}/oauth/token as section 4.1 has it: four form fields, no Authorization header. */
async function requestToken({
  settings,
  http,
  assertion,
  onRequest,
  clock,
}: Parameters<typeof createTokenSource>[0]): Promise<HttpAnswer> {
  const body = new URLSearchParams({
    grant_type: settings.grantType,
    scope: settings.scope,
    client_assertion_type: settings.clientAssertionType,
    client_assertion: await assertion(),
  });
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
  const url = `${settings.authUrl}/oauth/token`;
  const start = clock.now();
  const report = (outcome: string) => onRequest?.('POST oauth/token', outcome, (clock.now() - start) / 1_000);
  try {
    const answer = await http.send({
      ...{ method: 'POST', url, headers, body: body.toString() },
      timeoutMs: TOKEN_TIMEOUT_MS,
      maxAnswerBytes: MAX_ANSWER_BYTES,
    });
    report(judgeStatus(answer.status));
    return answer;
  } catch (error) {
    report('unknown');
    throw new HooklineError('TOKEN_UNAVAILABLE', (error as Error).message, { cause: error });
  }
}

/** The answer is never quoted: it holds the token. */
function readTokenAnswer({ status, body }: HttpAnswer) {
  if (PASSING.has(status) || status >= 500) throw new HooklineError('TOKEN_UNAVAILABLE', `status ${status}`);
  if (status !== 200) throw new HooklineError('TOKEN_REFUSED', `status ${status}`);
  const { access_token: token, token_type: type, expires_in: expiresIn, scope } = parseObject(body) ?? {};
  // It goes into a header: what can't stand there, or is larger than servers take, is as good as none.
  if (typeof token !== 'string' || !/^[\x21-\x7e]{1,16384}$/.test(token))
    throw new HooklineError('TOKEN_UNAVAILABLE', 'the answer has no access_token');
  // RFC 6749, 7.1: a token of a type that isn't understood must not be used. Here it would be sent as a bearer token.
  if (typeof type === 'string' && type.toLowerCase() !== 'bearer')
    throw new HooklineError('TOKEN_REFUSED', 'the token_type of the answer is not bearer');
  return {
    token,
    expiresIn: lifetimeOf(expiresIn),
    scope: typeof scope === 'string' ? scope.split(' ') : undefined,
  };
}

/** Seconds, as a number or as its digits; anything else says nothing. */
function lifetimeOf(expiresIn: unknown): number {
  const isSaid = typeof expiresIn === 'number' || (typeof expiresIn === 'string' && expiresIn.trim() !== '');
  const seconds = isSaid ? Number(expiresIn) : NaN;
  return Number.isFinite(seconds) && seconds > 0 ? seconds : DEFAULT_LIFETIME_S;
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const json: unknown = parseBoundedJson(text, ANSWER_JSON);
    return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/**
 * Makes the JWT Bearer token that identifies Hookline (interface, section 5.1). Read or signed again for each token.
 * Throws JWT_UNAVAILABLE: a file that is being replaced may be missing or empty for a moment.
 */
export type Assertion = () => Promise<string>;

/** How long a signed JWT is valid: it is used at once. */
const LIFETIME_S = 300;

/** @param newId makes the jti */
export function createAssertion(settings: ProviderSettings, newId: () => string, clock: Clock): Assertion {
  const { jwtFile, jwtKeyFile } = settings;
  if (jwtFile !== undefined) return () => orUnavailable(readAssertion(jwtFile));
  if (jwtKeyFile !== undefined)
    return () => orUnavailable(signAssertion(settings, jwtKeyFile, { id: newId(), now: clock.wall() }));
  throw new TypeError('neither a JWT nor a key to sign one');
}

async function readAssertion(file: string): Promise<string> {
  const jwt = (await readFile(file, 'utf8')).trim();
  if (jwt === '') throw new Error(`${file} is empty`);
  return jwt;
}

/** Neither the file system nor jose quotes in its errors what stands in a file. */
const orUnavailable = (made: Promise<string>) =>
  made.catch((cause: Error) =>
    Promise.reject(new HooklineError('JWT_UNAVAILABLE', cause.message, { cause })),
  );

async function signAssertion(
  settings: ProviderSettings,
  keyFile: string,
  { id, now }: { id: string; now: number },
): Promise<string> {
  const { jwtAlgorithm: alg, jwtKeyId: kid, jwtIssuer = '' } = settings;
  const key = await importPKCS8(await readFile(keyFile, 'utf8'), alg);
  return new SignJWT({})
    .setProtectedHeader({ alg, typ: 'JWT', ...(kid === undefined ? {} : { kid }) })
    .setIssuer(jwtIssuer)
    .setSubject(settings.jwtSubject ?? jwtIssuer)
    .setAudience(settings.jwtAudience ?? `${settings.authUrl}/oauth/token`)
    .setIssuedAt(new Date(now))
    .setExpirationTime(new Date(now + LIFETIME_S * 1_000))
    .setJti(id)
    .sign(key);
}
