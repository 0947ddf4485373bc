import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { SandboxError } from '../core/errors.ts';
import type { TokenStore } from './token-store.ts';

/** `POST /oauth/token` (interface, sections 2.1, 2.2 and 4.1). */
/** @param deps.jwt the JWT Bearer token that is accepted */
export function tokenRoutes(deps: { tokens: TokenStore; jwt: string }) {
  return async (app: FastifyInstance): Promise<void> => {
    takeRawBodies(app);
    app.post('/oauth/token', { config: { operation: 'token' } }, async (request, reply) => {
      checkTokenHeaders(request.headers);
      const scope = readTokenForm(bodyOf(request), deps.jwt);
      const { token, expiresInS } = deps.tokens.issue();
      reply.header('cache-control', 'no-store');
      return { access_token: token, token_type: 'bearer', expires_in: expiresInS, scope };
    });
  };
}

/** The form fields (interface, section 2.1): all four are required. */
const FIELDS = ['grant_type', 'scope', 'client_assertion_type', 'client_assertion'] as const;

/** The interface does not show the allowed values: these are of RFC 6749 and RFC 7523. */
const GRANT_TYPE = 'client_credentials';
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** The scope values of the interface, section 2.2. */
const SCOPES: readonly string[] = [
  'accounts.create',
  'accounts.read',
  'accounts.update',
  'accounts.close',
  'transactions.read',
  'paymentcamt056.create',
  'paymentcamt029.read',
  'paymentpacs002.read',
  'paymentpacs002-id.read',
  'paymentpacs008.create',
  'paymentpacs008.simulate',
];

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
function readTokenForm(body: Buffer, jwt: string): string {
  const form = new URLSearchParams(body.toString('utf8'));
  for (const name of FIELDS) {
    const count = form.getAll(name).length;
    if (count !== 1) refuse('invalid_request', `${name} is ${count === 0 ? 'missing' : 'given twice'}.`);
    if (form.get(name) === '')
      refuse(name === 'scope' ? 'invalid_scope' : 'invalid_request', `${name} is empty.`);
  }
  const value = (name: (typeof FIELDS)[number]) => form.get(name) ?? '';
  if (value('grant_type') !== GRANT_TYPE)
    refuse('unsupported_grant_type', `grant_type must be ${GRANT_TYPE}.`);
  if (value('client_assertion_type') !== ASSERTION_TYPE)
    refuse('invalid_request', `client_assertion_type must be ${ASSERTION_TYPE}.`);
  checkScopes(value('scope'));
  if (value('client_assertion') !== jwt) {
    refuse('invalid_client', 'client_assertion is not the JWT Bearer token that this sandbox accepts.');
  }
  return value('scope');
}

function checkScopes(scope: string): void {
  const scopes = scope.split(' ');
  if (scopes.includes('')) refuse('invalid_scope', 'Several scopes are separated by a single space.');
  const strange = scopes.find((one) => !SCOPES.includes(one));
  if (strange !== undefined) {
    refuse(
      'invalid_scope',
      `${JSON.stringify(strange.slice(0, 60))} is not a scope: use ${SCOPES.join(', ')}.`,
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
