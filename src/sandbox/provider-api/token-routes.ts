import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { SandboxError } from '../core/errors.ts';
import type { TokenStore } from './token-store.ts';

/** `POST /oauth/token` (interface, sections 2.1, 2.2 and 4.1). */
export function tokenRoutes(deps: { tokens: TokenStore; rules: TokenRules }) {
  return async (app: FastifyInstance): Promise<void> => {
    takeRawBodies(app);
    app.post('/oauth/token', { config: { operation: 'token' } }, async (request, reply) => {
      checkTokenHeaders(request.headers);
      const scope = readTokenForm(bodyOf(request), deps.rules);
      const { token, expiresInS } = deps.tokens.issue();
      reply.header('cache-control', 'no-store');
      return { access_token: token, token_type: 'bearer', expires_in: expiresInS, scope };
    });
  };
}

/** The form fields (interface, section 2.1): all four are required. */
const FIELDS = ['grant_type', 'scope', 'client_assertion_type', 'client_assertion'] as const;

type TokenRules = {
  readonly jwt: string;
  /** The interface does not show the allowed values: these come from the options. */
  readonly grantTypes: readonly string[];
  readonly assertionTypes: readonly string[];
  readonly scopes: readonly string[];
};

/** Checks the headers of a token request (interface, section 4.1). */
function checkTokenHeaders(headers: IncomingHttpHeaders): void {
  if (headers.authorization !== undefined) {
    throw new SandboxError('invalid_request', 'The Authorization header must not be used on this request.');
  }
  if (!mediaTypes(headers.accept).includes('application/json')) {
    throw new SandboxError('not_acceptable', 'The header Accept: application/json is required.');
  }
  if (mediaTypes(headers['content-type'])[0] !== 'application/x-www-form-urlencoded') {
    throw new SandboxError(
      'unsupported_media_type',
      'The header Content-Type: application/x-www-form-urlencoded is required.',
    );
  }
}

/** Checks the form of a token request; returns the requested scopes as they were sent. */
function readTokenForm(body: Buffer, rules: TokenRules): string {
  const form = new URLSearchParams(body.toString('utf8'));
  for (const name of FIELDS) {
    const count = form.getAll(name).length;
    if (count !== 1) refuse('invalid_request', `${name} is ${count === 0 ? 'missing' : 'given twice'}.`);
    if (form.get(name) === '')
      refuse(name === 'scope' ? 'invalid_scope' : 'invalid_request', `${name} is empty.`);
  }
  const value = (name: (typeof FIELDS)[number]) => form.get(name) ?? '';
  if (!rules.grantTypes.includes(value('grant_type'))) {
    refuse('unsupported_grant_type', `grant_type must be ${rules.grantTypes.join(' or ')}.`);
  }
  if (!rules.assertionTypes.includes(value('client_assertion_type'))) {
    refuse('invalid_request', `client_assertion_type must be ${rules.assertionTypes.join(' or ')}.`);
  }
  checkScopes(value('scope'), rules.scopes);
  if (value('client_assertion') !== rules.jwt) {
    refuse('invalid_client', 'client_assertion is not the JWT Bearer token that this sandbox accepts.');
  }
  return value('scope');
}

function checkScopes(scope: string, known: readonly string[]): void {
  const scopes = scope.split(' ');
  if (scopes.includes('')) refuse('invalid_scope', 'Several scopes are separated by a single space.');
  const strange = scopes.find((one) => !known.includes(one));
  if (strange !== undefined) {
    refuse(
      'invalid_scope',
      `${JSON.stringify(strange.slice(0, 60))} is not a scope: use ${known.join(', ')}.`,
    );
  }
}

/** Throws the error of a token request. */
function refuse(code: ConstructorParameters<typeof SandboxError>[0], message: string): never {
  throw new SandboxError(code, message);
}

const mediaTypes = (header: string | undefined): string[] =>
  (header ?? '').split(',').map((part) => part.split(';')[0]!.trim().toLowerCase());

/** Gives this plugin's handlers the bodies as bytes, whatever their Content-Type: the handlers check both. */
export function takeRawBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
}

export const bodyOf = (request: { body: unknown }): Buffer =>
  Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
