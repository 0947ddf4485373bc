import type { FastifyReply, FastifyRequest } from 'fastify';
import { SandboxError } from '../core/errors.ts';
import type { TokenStore } from './token-store.ts';

/** Lets a request pass that carries a token of ours which is still valid, 5.1. */
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
