import type { CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { EncryptJWT, jwtDecrypt } from 'jose';
import { sha256Of } from '../../crypto/ids.ts';

/** Who has logged in. Of the groups, those that have a role. */
export type Session = { readonly name: string; readonly groups: readonly string[] };

/** As a cookie has it: names of groups may be long, and browsers keep no cookie above 4 KiB. */
type SealedSession = { readonly name: string; readonly marks: readonly string[] };

const MAX_COOKIE = 4_096;
/** Sixteen characters for each group. */
const markOf = (group: string): string => sha256Of(Buffer.from(group)).slice(0, 16);

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
  /** @returns false where the groups are too many for a cookie */
  begin(reply: FastifyReply, session: Session): Promise<boolean>;
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

export type SessionOptions = {
  /** 32 bytes. */
  readonly key: () => Uint8Array;
  /** Whether browsers reach the console by https: cookies then stay on it, and on this host. */
  readonly isSecure: boolean;
  /** Those that have a role. */
  readonly groups: readonly string[];
};

export function createSessions({ key, isSecure, groups: known }: SessionOptions): Sessions {
  const byMark = new Map(known.map((group) => [markOf(group), group]));
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
    if (name.length + sealed.length > MAX_COOKIE) return false;
    reply.setCookie(name, sealed, { ...options, maxAge: seconds });
    return true;
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
    async read(request) {
      const session = (await read(request, 'session', cookies.session)) as SealedSession | undefined;
      // One of a version that wrote names has ended.
      if (!session?.marks) return undefined;
      return { name: session.name, groups: session.marks.flatMap((mark) => byMark.get(mark) ?? []) };
    },
    begin: (reply, { name, groups }) =>
      write(reply, 'session', { name, marks: groups.map(markOf) }, SESSION_SECONDS, cookies.session),
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
