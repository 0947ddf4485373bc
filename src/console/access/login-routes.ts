import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from '../../runtime/logger.ts';
import type { Oidc } from './open-oidc.ts';
import type { Sessions } from './sessions.ts';

export type LoginDeps = {
  readonly oidc: Oidc;
  readonly sessions: Sessions;
  readonly publicUrl: string | undefined;
  readonly logger: Logger;
};

/** A login is a few requests; a loop of redirects is many. */
const LIMIT = { rateLimit: { max: 30, timeWindow: 60_000 } };

export const LOGIN = '/login';
const CALLBACK = '/login/callback';

/** Begins, finishes and ends logins. None of it needs a user. */
export function addLoginRoutes(app: FastifyInstance, { oidc, sessions, publicUrl, logger }: LoginDeps): void {
  const originOf = (request: FastifyRequest) => publicUrl ?? `http://${request.headers.host ?? 'localhost'}`;
  app.get(LOGIN, { config: LIMIT }, async (request, reply) => {
    const { url, pending } = await oidc.begin(`${originOf(request)}${CALLBACK}`).catch((error) => {
      logger.warn({ err: error }, 'the OpenID provider cannot be asked');
      throw loginFailed(503, 'The OpenID provider of CONSOLE_OIDC_ISSUER does not answer. Try again.', error);
    });
    const { to } = request.query as { to?: unknown };
    await sessions.beginPending(reply, { ...pending, returnTo: ownPath(to) });
    return reply.redirect(url, 303);
  });
  app.get(CALLBACK, { config: LIMIT }, async (request, reply) => {
    const pending = await sessions.readPending(request);
    if (!pending) throw loginFailed(400, 'This login has ended, or began in another browser. Log in again.');
    sessions.endPending(reply);
    const session = await oidc
      .finish(new URL(request.url, `${originOf(request)}/`), pending)
      .catch((error) => {
        logger.warn({ err: error }, 'login failed');
        throw loginFailed(403, 'The OpenID provider did not confirm the login. Log in again.', error);
      });
    await sessions.begin(reply, session);
    logger.info({ user: session.name, groups: session.groups }, 'logged in');
    return reply.redirect(pending.returnTo, 303);
  });
}

/** A path of the console's own: `//host` and `/\host` are other hosts. */
export const ownPath = (to: unknown): string =>
  typeof to === 'string' && /^\/(?![/\\])[\x21-\x7e]*$/.test(to) ? to : '/';

const loginFailed = (statusCode: number, message: string, cause?: unknown) =>
  Object.assign(new Error(message, { cause }), { statusCode, isLogin: true });
