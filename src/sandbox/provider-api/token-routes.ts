import type { FastifyInstance } from 'fastify';
import { checkTokenHeaders, readTokenForm, type TokenRules } from './read-token-request.ts';
import { bodyOf, takeRawBodies } from './take-raw-bodies.ts';
import type { TokenStore } from './token-store.ts';

/** `POST /oauth/token`, sections 2.1, 2.2 and 4.1 of the interface. */
export function tokenRoutes(parts: { tokens: TokenStore; rules: TokenRules }) {
  return async (app: FastifyInstance): Promise<void> => {
    takeRawBodies(app);
    app.post('/oauth/token', { config: { operation: 'token' } }, async (request, reply) => {
      checkTokenHeaders(request.headers);
      const scope = readTokenForm(bodyOf(request), parts.rules);
      const { token, expiresInS } = parts.tokens.issue();
      reply.header('cache-control', 'no-store');
      return { access_token: token, token_type: 'bearer', expires_in: expiresInS, scope };
    });
  };
}
