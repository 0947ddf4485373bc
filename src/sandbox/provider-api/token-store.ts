import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../runtime/clock.ts';
import { SandboxError } from '../core/errors.ts';

export type TokenStore = ReturnType<typeof createTokenStore>;

/** The access tokens that were issued. Expired ones are removed whenever a new one is issued. */
export function createTokenStore(deps: { clock: Pick<Clock, 'wall'>; ttlS: number }) {
  const expiries = new Map<string, number>();
  return {
    issue(): { token: string; expiresInS: number } {
      const now = deps.clock.wall();
      for (const [token, expiry] of expiries) if (expiry <= now) expiries.delete(token);
      const token = randomBytes(32).toString('base64url');
      expiries.set(token, now + deps.ttlS * 1000);
      return { token, expiresInS: deps.ttlS };
    },
    isValid(token: string): boolean {
      return (expiries.get(token) ?? 0) > deps.clock.wall();
    },
    /** Returns how many were valid. */
    revokeAll(): number {
      const now = deps.clock.wall();
      const valid = [...expiries.values()].filter((expiry) => expiry > now).length;
      expiries.clear();
      return valid;
    },
  };
}

/** Refuses requests without a valid access token (interface, section 5.1). */
export function requireToken(tokens: TokenStore) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const token = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (token !== undefined && tokens.isValid(token)) return;
    reply.header('www-authenticate', 'Bearer');
    throw new SandboxError(
      'invalid_token',
      token === undefined
        ? 'An access token is required: Authorization: Bearer <token> from POST /oauth/token.'
        : 'The access token is unknown, expired or revoked.',
    );
  };
}
