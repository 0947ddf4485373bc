import { generateKeyPairSync } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';

export const CLIENT = { id: 'hookline-console', secret: 'a-secret-of-the-console-that-is-long' };

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const SIGNING_KEY = { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'test' };

type Account = { readonly name: string; readonly groups: readonly string[] };

/**
 * A certified OpenID provider on a free port, which logs in whoever `login` says without asking. It insists on PKCE, and has groups
 * only in its user info, as many do.
 */
export async function openOpenIdProvider(redirectUri: string) {
  let answer: RequestListener = (_request, response) => void response.writeHead(503).end();
  const server = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const account = { current: { name: 'vera@example.org', groups: ['viewers'] } as Account };
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [redirectUri],
        response_types: ['code'],
        grant_types: ['authorization_code'],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    cookies: { keys: ['a key of this test'] },
    jwks: { keys: [SIGNING_KEY] },
    ttl: { Interaction: 60, Grant: 60, Session: 60, AccessToken: 60, IdToken: 60 },
    pkce: { required: () => true },
    claims: { openid: ['sub', 'groups'], email: ['email', 'email_verified'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: () => ({ sub, email: sub, email_verified: true, groups: account.current.groups }),
    }),
    async loadExistingGrant(context) {
      const { client, session } = context.oidc;
      if (!client || !session?.accountId) return undefined;
      const grant = new context.oidc.provider.Grant({
        clientId: client.clientId,
        accountId: session.accountId,
      });
      grant.addOIDCScope('openid email');
      await grant.save();
      return grant;
    },
  });
  const serve = provider.callback();
  answer = (request, response) => {
    if (!request.url?.startsWith('/interaction/')) return void serve(request, response);
    void provider.interactionFinished(request, response, { login: { accountId: account.current.name } });
  };
  return {
    issuer,
    login: (name: string, groups: readonly string[]) => {
      account.current = { name, groups };
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
