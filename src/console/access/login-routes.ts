import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from '../../runtime/logger.ts';
import { nameFault } from '../settings/roles.ts';
import type { Oidc } from './open-oidc.ts';
import type { Sessions } from './sessions.ts';

export type LoginDeps = {
  readonly oidc: Oidc;
  readonly sessions: Sessions;
  readonly publicUrl: string | undefined;
  readonly logger: Logger;
};

export const LOGIN = '/login';
const CALLBACK = '/login/callback';

/** Logins that came back are remembered as used: more than begin within the ten minutes that each of them lasts. */
const MAX_USED = 10_000;
/** It is sealed into a cookie, and browsers keep 4 KiB of one. */
const MAX_PATH = 1_000;

/**
 * Begins and finishes logins. None of it needs a user, and no counter stands before it: behind a proxy all have one address, and a
 * stranger could use up what others need. A redirect costs nothing; a request to the provider needs the sealed cookie of a login that
 * was begun, and uses it up.
 */
export function addLoginRoutes(app: FastifyInstance, { oidc, sessions, publicUrl, logger }: LoginDeps): void {
  const originOf = (request: FastifyRequest) => publicUrl ?? `http://${request.headers.host ?? 'localhost'}`;
  const used = new Set<string>();
  /** Whether this login comes back for the first time: its code counts once too. */
  const isFirst = (state: string): boolean => {
    if (used.has(state)) return false;
    used.add(state);
    for (const oldest of used) if (used.size > MAX_USED) used.delete(oldest);
    return true;
  };
  app.get(LOGIN, async (request, reply) => {
    const { to } = request.query as { to?: unknown };
    const { url, pending } = await oidc.begin(`${originOf(request)}${CALLBACK}`).catch((error) => {
      logger.warn({ err: error }, 'the OpenID provider cannot be asked');
      throw loginFailed(503, 'The OpenID provider of CONSOLE_OIDC_ISSUER does not answer. Try again.', error);
    });
    await sessions.beginPending(request, reply, { ...pending, returnTo: ownPath(to) });
    return reply.redirect(url, 303);
  });
  app.get(CALLBACK, async (request, reply) => {
    const { state } = request.query as { state?: unknown };
    const pending = await sessions.readPending(request, String(state));
    if (!pending || !isFirst(pending.state)) {
      // Another tab was faster, or the way back was taken twice: whoever is logged in by now has nothing to do again.
      if (request.consoleUser) return reply.redirect(pending?.returnTo ?? '/', 303);
      // A link of somebody else: it ends no login.
      throw loginFailed(400, ENDED);
    }
    sessions.endPending(reply, pending.state);
    const session = await oidc
      .finish(new URL(request.url, `${originOf(request)}/`), pending)
      .catch((error) => {
        logger.warn({ err: error }, 'login failed');
        throw loginFailed(403, NOT_CONFIRMED, error);
      });
    const fault = nameFault(session.name);
    if (fault !== null)
      throw loginFailed(403, `${fault} It is the verified email of the ID token, or else its sub.`);
    if (!(await sessions.begin(reply, session))) throw loginFailed(403, TOO_MANY);
    logger.info({ user: session.name, groups: session.groups }, 'logged in');
    return reply.redirect(pending.returnTo, 303);
  });
}

const ENDED = 'This login has ended, or began in another browser. Log in again.';
const TOO_MANY =
  'This user is in more groups with a role than a cookie holds: give one group of theirs a role in CONSOLE_ROLES in place of many.';
const NOT_CONFIRMED = 'The OpenID provider did not confirm the login. Log in again.';

/** A path of the console's own: `//host` and `/\host` are other hosts. */
export const ownPath = (to: unknown): string =>
  typeof to === 'string' && to.length <= MAX_PATH && /^\/(?![/\\])[\x21-\x7e]*$/.test(to) ? to : '/';

const loginFailed = (statusCode: number, message: string, cause?: unknown) =>
  Object.assign(new Error(message, { cause }), { statusCode, isLogin: true });
