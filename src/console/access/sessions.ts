import type { CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { EncryptJWT, jwtDecrypt } from 'jose';

/** Who has logged in. Of the groups, those that have a role. */
export type Session = { readonly name: string; readonly groups: readonly string[] };

/** What has to be known again when the OpenID provider sends a browser back. */
export type PendingLogin = {
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string;
  readonly returnTo: string;
};

/**
 * Sessions as sealed cookies (JWE, A256GCM): the console stores none, and every one of its processes reads them. A session ends after
 * four hours; the provider then usually logs the user in again without a question. A change of the client's secret ends all.
 */
export type Sessions = {
  read(request: FastifyRequest): Promise<Session | undefined>;
  begin(reply: FastifyReply, session: Session): Promise<void>;
  end(reply: FastifyReply): void;
  /** The login that was begun with this state: tabs of one browser log in at the same time, each on its own. */
  readPending(request: FastifyRequest, state: string): Promise<PendingLogin | undefined>;
  beginPending(request: FastifyRequest, reply: FastifyReply, pending: PendingLogin): Promise<void>;
  endPending(reply: FastifyReply, state: string): void;
};

const SESSION_SECONDS = 4 * 60 * 60;
const LOGIN_SECONDS = 10 * 60;
/** Logins of one browser that are pending: cookies come with every request, and a server takes 16 KiB of headers. */
const MAX_PENDING = 5;
/** Characters of a state that are in the name of its cookie. */
const STATE_IN_NAME = 12;

/**
 * @param key 32 bytes
 * @param isSecure whether browsers reach the console by https: cookies then stay on it, and on this host
 */
export function createSessions(key: () => Uint8Array, isSecure: boolean): Sessions {
  const prefix = isSecure ? '__Host-' : '';
  const cookies = { session: `${prefix}hookline-session`, login: `${prefix}hookline-login` };
  // Lax, as the provider's redirect to the console comes from another site. POSTs of other sites come without cookies all the same.
  const options: CookieSerializeOptions = { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure };
  const nameOf = (state: string) => `${cookies.login}-${state.slice(0, STATE_IN_NAME)}`;
  const write = async (
    reply: FastifyReply,
    kind: keyof typeof cookies,
    claims: object,
    seconds: number,
    name: string,
  ) => {
    const sealed = await new EncryptJWT({ ...claims })
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', typ: kind })
      .setExpirationTime(`${seconds}s`)
      .encrypt(key());
    reply.setCookie(name, sealed, { ...options, maxAge: seconds });
  };
  const read = async (request: FastifyRequest, kind: keyof typeof cookies, name: string) => {
    const sealed = request.cookies[name];
    if (sealed === undefined) return undefined;
    const accepted = { keyManagementAlgorithms: ['dir'], contentEncryptionAlgorithms: ['A256GCM'] };
    return jwtDecrypt(sealed, key(), { ...accepted, typ: kind, requiredClaims: ['exp'] }).then(
      ({ payload }) => payload,
      () => undefined,
    );
  };
  return {
    read: async (request) => (await read(request, 'session', cookies.session)) as Session | undefined,
    begin: (reply, session) => write(reply, 'session', session, SESSION_SECONDS, cookies.session),
    end: (reply) => void reply.clearCookie(cookies.session, options),
    async readPending(request, state) {
      const pending = (await read(request, 'login', nameOf(state))) as PendingLogin | undefined;
      return pending?.state === state ? pending : undefined;
    },
    async beginPending(request, reply, pending) {
      // Browsers send the oldest first.
      const others = Object.keys(request.cookies).filter((name) => name.startsWith(`${cookies.login}-`));
      for (const name of others.slice(0, Math.max(0, others.length + 1 - MAX_PENDING)))
        reply.clearCookie(name, options);
      await write(reply, 'login', pending, LOGIN_SECONDS, nameOf(pending.state));
    },
    endPending: (reply, state) => void reply.clearCookie(nameOf(state), options),
  };
}
