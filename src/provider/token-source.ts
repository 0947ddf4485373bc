import { readFile } from 'node:fs/promises';
import { HooklineError } from '../core/errors.ts';
import type { Clock } from '../runtime/clock.ts';
import { type Http, type HttpAnswer, retryAfterMs } from '../runtime/http-client.ts';
import { signJwt } from '../tokens/jwt.ts';
import { MAX_ANSWER_BYTES, readTokenAnswer, scopesIn, TOKEN_TIMEOUT_MS } from '../tokens/token-answer.ts';
import { createTokenCache, type TokenSource } from '../tokens/token-source.ts';
import { type Judgement, judgeStatus, type OnRequest } from './judge-answer.ts';
import type { ProviderSettings } from './settings.ts';

export type TokenSettings = {
  readonly authUrl: string;
  readonly scope: string;
  readonly grantType: string;
  readonly clientAssertionType: string;
};

/** A token is renewed when so much of its life is left, or a tenth of it where that is less. */
const RENEW_BEFORE_S = 60;
type ProviderTokens = {
  readonly clock: Clock;
  readonly settings: TokenSettings;
  readonly http: Http;
  readonly assertion: Assertion;
  /** Scopes that were asked for and not granted. */
  readonly onNarrowerScope: (missing: readonly string[]) => void;
  readonly onRequest?: OnRequest;
  readonly onToken?: () => void;
};

/** Obtained where there is none or its time is nearly up. `get` throws TOKEN_REFUSED, TOKEN_UNAVAILABLE, JWT_UNAVAILABLE. */
export function createTokenSource(deps: ProviderTokens): TokenSource {
  const { settings, clock } = deps;
  /** By the clock that only grows. */
  let restUntil = Number.NEGATIVE_INFINITY;
  const obtain = async () => {
    const restMs = restUntil - clock.now();
    if (restMs > 0)
      throw new HooklineError('TOKEN_UNAVAILABLE', `asked to wait ${Math.ceil(restMs / 1_000)} s longer`);
    const reply = await requestToken(deps);
    restUntil = clock.now() + (reply.status === 200 ? 0 : (retryAfterMs(reply, clock.wall()) ?? 0));
    const answer = readTokenAnswer(reply);
    if ('fault' in answer)
      throw new HooklineError(answer.isRefusal ? 'TOKEN_REFUSED' : 'TOKEN_UNAVAILABLE', answer.fault);
    const { scopes } = answer;
    const missing = scopesIn(settings.scope).filter((scope) => scopes && !scopes.includes(scope));
    if (missing.length > 0) deps.onNarrowerScope(missing);
    deps.onToken?.();
    return answer;
  };
  const renewBefore = (lifetimeS: number) => Math.min(RENEW_BEFORE_S, lifetimeS / 10);
  return createTokenCache({ clock, obtain, renewBefore });
}

/** Of other statuses than the protocol's own, what something before the endpoint may have answered in its place. */
const REFUSALS: ReadonlySet<Judgement> = new Set<Judgement>(['gone', 'refused']);

/** POST {auth_url}/oauth/token as section 4.1 has it: four form fields, no Authorization header. */
async function requestToken({
  settings,
  http,
  assertion,
  onRequest,
  clock,
}: ProviderTokens): Promise<HttpAnswer> {
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
      method: 'POST',
      url,
      headers,
      body: body.toString(),
      timeoutMs: TOKEN_TIMEOUT_MS,
      maxAnswerBytes: MAX_ANSWER_BYTES,
    });
    report(outcomeOf(answer));
    return answer;
  } catch (error) {
    report('unknown');
    throw new HooklineError('TOKEN_UNAVAILABLE', (error as Error).message, { cause: error });
  }
}

/** As the metric counts it. A 200 without a token is none: a page of what stands before the endpoint, or a token of another type. */
function outcomeOf(answer: HttpAnswer): Judgement {
  const read = readTokenAnswer(answer);
  if (!('fault' in read)) return 'done';
  const judgement = judgeStatus(answer.status);
  if (judgement === 'done') return read.isRefusal ? 'refused' : 'unknown';
  return REFUSALS.has(judgement) && !read.isRefusal ? 'unknown' : judgement;
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
  const { jwtAlgorithm: algorithm, jwtKeyId: keyId, jwtIssuer: issuer = '' } = settings;
  return signJwt(await readFile(keyFile, 'utf8'), {
    algorithm,
    keyId,
    issuer,
    id,
    subject: settings.jwtSubject ?? issuer,
    audience: settings.jwtAudience ?? `${settings.authUrl}/oauth/token`,
    issuedAt: now,
    endsAt: now + LIFETIME_S * 1_000,
  });
}
