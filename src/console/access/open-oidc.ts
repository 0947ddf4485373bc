import * as client from 'openid-client';
import { fetchThrough } from '../../runtime/http-client.ts';
import type { ConsoleSettings } from '../settings/console-settings.ts';
import { groupsOf } from '../settings/roles.ts';
import type { PendingLogin, Session } from './sessions.ts';

/** Logs users in at an OpenID provider: authorization code flow with PKCE, state and nonce (RFC 9700, OpenID Connect Core 1.0). */
export type Oidc = {
  /** Where to send the browser, and what must be known when it comes back. Rejects where the provider does not answer. */
  begin(
    redirectUri: string,
  ): Promise<{ readonly url: string; readonly pending: Omit<PendingLogin, 'returnTo'> }>;
  /** Who came back. Rejects where the answer is not one to that very request. */
  finish(callback: URL, pending: PendingLogin): Promise<Session>;
};

/** Seconds that the provider may take for each request. */
const TIMEOUT_SECONDS = 10;

/** Of one answer of the provider: metadata, keys or tokens, some kilobytes each. The client reads it whole, and its time-out allows gigabytes. */
const MAX_ANSWER_BYTES = 1024 * 1024;

const boundedFetch =
  (send: typeof fetch): client.CustomFetch =>
  async (url, options) => {
    const answer = await send(url, options as RequestInit);
    let bytes = 0;
    const bounded = answer.body?.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          bytes += chunk.length;
          if (bytes > MAX_ANSWER_BYTES)
            controller.error(new Error(`its answer is larger than ${MAX_ANSWER_BYTES} bytes`));
          else controller.enqueue(chunk);
        },
      }),
    );
    return new Response(bounded ?? null, answer);
  };

/** @param secret the client's secret as it is in its file now */
export function openOidc(settings: ConsoleSettings, secret: () => string): Oidc {
  const { oidcIssuer = '', oidcClientId = '', oidcScope, oidcGroupsClaim, roles } = settings;
  const issuer = new URL(oidcIssuer);
  let found: { readonly secret: string; readonly configuration: Promise<client.Configuration> } | undefined;
  // At the first login, not at the start: the console shows what is wrong elsewhere while the provider is unavailable.
  const discover = () => {
    const current = secret();
    if (found?.secret === current) return found.configuration;
    const options = {
      timeout: TIMEOUT_SECONDS,
      [client.customFetch]: boundedFetch(fetchThrough(settings)),
      // The settings have been checked: http is a loopback address, or allowed by the operator.
      ...(issuer.protocol === 'http:' && { execute: [client.allowInsecureRequests] }),
    };
    const configuration = client.discovery(issuer, oidcClientId, current, undefined, options);
    found = { secret: current, configuration };
    configuration.catch(() => {
      found = undefined;
    });
    return configuration;
  };
  return {
    async begin(redirectUri) {
      const configuration = await discover();
      const verifier = client.randomPKCECodeVerifier();
      const pending = { verifier, state: client.randomState(), nonce: client.randomNonce() };
      const url = client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: oidcScope,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state: pending.state,
        nonce: pending.nonce,
      });
      return { url: url.href, pending };
    },
    async finish(callback, { verifier, state, nonce }) {
      const configuration = await discover();
      const tokens = await client.authorizationCodeGrant(configuration, callback, {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (!claims) throw new Error('the provider sent no ID token');
      const isComplete = oidcGroupsClaim in claims && 'email' in claims;
      const more =
        isComplete || !configuration.serverMetadata().userinfo_endpoint
          ? {}
          : await client.fetchUserInfo(configuration, tokens.access_token, claims.sub);
      const all: Readonly<Record<string, unknown>> = { ...more, ...claims };
      // A role of everyone needs no group; what has no role stays out of the cookie.
      const known = new Set(groupsOf(roles));
      return { name: nameOf(all), groups: textsOf(all[oidcGroupsClaim]).filter((group) => known.has(group)) };
    },
  };
}

/** An address that the provider has not verified is one that the user chose, as is `preferred_username` (OpenID Connect Core, 5.7). */
export const nameOf = ({ sub, email, email_verified }: Readonly<Record<string, unknown>>): string =>
  typeof email === 'string' && email_verified === true ? email : String(sub);

const textsOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((one) => typeof one === 'string');
