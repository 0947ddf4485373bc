import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import cookie from '@fastify/cookie';
import csrf from '@fastify/csrf-protection';
import formbody from '@fastify/formbody';
import helmet from '@fastify/helmet';
import rateLimit from '@fastify/rate-limit';
import files from '@fastify/static';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { randomKey } from '../../crypto/keys.ts';
import type { Probes } from '../../runtime/admin-server.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Identify } from '../access/access.ts';
import { addLoginRoutes, LOGIN, type LoginDeps, ownPath } from '../access/login-routes.ts';
import { html } from '../page/html.ts';
import { layout } from '../page/layout.ts';
import { type Page, PageError } from '../page/page.ts';
import type { User } from '../settings/roles.ts';
import { answerError } from './answer-error.ts';
import type { Audit } from './audit.ts';
import { serveChange } from './serve-change.ts';
import { servePage } from './serve-page.ts';
import { Streams } from './streams.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Of whoever has passed {@link guard}. */
    consoleUser: User | null;
  }
}

export type ConsoleAppDeps = {
  readonly pages: readonly Page[];
  readonly identify: Identify;
  /** undefined where nobody logs in here. */
  readonly login: LoginDeps | undefined;
  readonly audit: Audit;
  readonly probes: Pick<Probes, 'liveness' | 'readiness'>;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Whether browsers reach it by https. */
  readonly isSecure: boolean;
  readonly stopping: AbortSignal;
  /** Requests that one user may make in a minute; unset means {@link PER_MINUTE}. */
  readonly perMinute?: { readonly all: number; readonly changes: number };
};

/** A page is four requests the first time, two afterwards. */
const PER_MINUTE = { all: 300, changes: 30 };
/** A topic's name has 249 characters at most, and an address may take three for each. */
const MAX_PARAMETER_LENGTH = 3 * 249;
/** The largest that is posted is a pasted message or a file of subscriptions. */
const BODY_LIMIT = 2 * 1024 * 1024;
const PROBES = /^\/(livez|readyz)$/;
const ASSETS = /^\/assets\//;

/** The console's HTTP server, apart from its `listen`. */
export async function createConsoleApp(deps: ConsoleAppDeps): Promise<FastifyInstance> {
  const { pages, identify, isSecure, logger } = deps;
  const { all, changes } = deps.perMinute ?? PER_MINUTE;
  const app = fastify({
    bodyLimit: BODY_LIMIT,
    forceCloseConnections: true,
    requestTimeout: 30_000,
    routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH },
    // Else it would be answered before everything here: as JSON, and without these headers.
    rewriteUrl: ({ url = '' }) => (isDecodable(url) ? url : UNKNOWN_PATH),
  });
  app.decorateRequest('consoleUser', null);
  app.setErrorHandler((error, request, reply) =>
    answerError(error as Error, request, reply, { pages, logger }),
  );
  app.setNotFoundHandler((request, reply) =>
    answerError(Object.assign(new Error(NOT_FOUND), { statusCode: 404 }), request, reply, { pages, logger }),
  );
  await app.register(helmet, headersOf(isSecure));
  await app.register(cookie);
  await app.register(formbody);
  const csrfCookie = { path: '/', httpOnly: true, sameSite: 'lax' as const, secure: isSecure };
  await app.register(csrf, {
    cookieKey: `${isSecure ? '__Host-' : ''}hookline-csrf`,
    cookieOpts: csrfCookie,
    // A token counts for its user alone, whoever has put the cookie there.
    getUserInfo: (request) => request.consoleUser?.name ?? '',
    csrfOpts: { hmacKey: randomKey().toString('hex') },
  });
  app.addHook('onRequest', guard(identify));
  await app.register(rateLimit, {
    max: all,
    timeWindow: 60_000,
    // By user: behind a proxy all have one address. Whoever is not known reaches probes, files and the login alone, and no counter of
    // theirs may lock out others.
    allowList: (request) => request.consoleUser === null,
    keyGenerator: (request) => request.consoleUser?.name ?? '',
  });
  app.addHook('onSend', async (request, reply) => {
    // Files change with a release only: a minute saves most requests, and a page of a new one soon has its own.
    reply.header('cache-control', ASSETS.test(request.url) ? 'private, max-age=60' : 'no-store');
  });
  await app.register(files, { ...ASSET_FILES, prefix: '/assets/', wildcard: false, cacheControl: false });
  for (const [path, probe] of [
    ['/livez', deps.probes.liveness],
    ['/readyz', deps.probes.readiness],
  ] as const)
    app.get(path, async (_request, reply) => {
      const { ok, reasons } = probe();
      return reply.code(ok ? 200 : 503).send({ status: ok ? 'ok' : 'failing', reasons });
    });
  if (deps.login) {
    addLoginRoutes(app, deps.login);
    const { sessions } = deps.login;
    app.post('/logout', { preHandler: app.csrfProtection }, async (_request, reply) => {
      sessions.end(reply);
      const content = html`<p class="verdict quiet">Your session in the console has ended. The OpenID provider may still know you, and then logs you in without asking.</p><p><a class="button" href="/login">Log in</a></p>`;
      const frame = { title: 'Logged out', pages: [], path: '/logout', user: undefined, content };
      return reply.type('text/html; charset=utf-8').send(layout(frame).toString());
    });
  }
  const serving = {
    ...deps,
    canLogOut: deps.login !== undefined,
    limitChange: limitOf(app, changes),
    streams: new Streams(),
  };
  for (const page of pages) {
    servePage(app, page, serving);
    for (const change of page.changes ?? []) serveChange(app, change, page, serving);
  }
  return app;
}

const NOT_FOUND = 'There is no such page.';
const UNKNOWN_PATH = '/%25';

function isDecodable(url: string): boolean {
  try {
    decodeURIComponent(url.replace(/[?#].*/s, ''));
    return true;
  } catch {
    return false;
  }
}

/** One counter for all changes of a user, beside that of all requests. */
function limitOf(app: FastifyInstance, max: number) {
  const count = app.createRateLimit({ max, timeWindow: 60_000 });
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const counted = await count(request);
    if (counted.isAllowed || !counted.isExceeded) return;
    reply.header('retry-after', counted.ttlInSeconds);
    throw new PageError(
      429,
      `A user may make ${max} changes in a minute, of all kinds together: wait ${counted.ttlInSeconds} s, and try again.`,
    );
  };
}

/** Nothing but what the console serves itself is loaded, run, framed or posted to. */
const headersOf = (isSecure: boolean) => ({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'"],
      connectSrc: ["'self'"],
      formAction: ["'self'"],
      frameAncestors: ["'none'"],
      baseUri: ["'none'"],
    },
  },
  strictTransportSecurity: isSecure && { maxAge: 31_536_000, includeSubDomains: false },
  referrerPolicy: { policy: 'same-origin' as const },
  xFrameOptions: { action: 'deny' as const },
});

const require = createRequire(import.meta.url);

/** Ours, and uPlot from its package as it is. */
const ASSET_FILES = {
  root: [join(import.meta.dirname, '../assets'), dirname(require.resolve('uplot'))],
  allowedPath: (path: string) =>
    /^\/(console\.(css|js)|icon\.svg|uPlot\.(iife\.min\.js|min\.css))$/.test(path),
};

const isFromAnotherSite = ({ headers }: FastifyRequest): boolean =>
  ['cross-site', 'same-site'].includes(String(headers['sec-fetch-site']));

/** A link of another website may lead here; nothing else of it may, such as a hidden frame. Browsers say which it is, and no page can change that. */
const isLink = ({ method, headers }: FastifyRequest): boolean =>
  method === 'GET' && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';

/** The address without what would show sensitive fields: that is an entry of the audit trail in the name of who followed the link. */
function withoutReveal(url: string): string | undefined {
  // Such as `//`.
  if (!URL.canParse(url, 'http://localhost')) return '/';
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  if (!searchParams.has('reveal')) return undefined;
  searchParams.delete('reveal');
  return ownPath(searchParams.size > 0 ? `${pathname}?${searchParams}` : pathname);
}

/** Lets nobody pass who may not: probes, the login and the files of the pages are for everyone, and of nobody a body is read. */
const guard = (identify: Identify) => async (request: FastifyRequest, reply: FastifyReply) => {
  const [path = ''] = request.url.split('?', 1);
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const isFile = isRead && ASSETS.test(path);
  if (isRead && PROBES.test(path)) return;
  if (isFromAnotherSite(request)) {
    if (!isLink(request))
      throw Object.assign(new Error('Another website asked for this.'), { statusCode: 403, isPlain: true });
    const masked = withoutReveal(request.url);
    if (masked !== undefined) return reply.redirect(masked, 303);
  }
  const identity = await identify(request);
  // The page that says why not needs its files.
  if ('refused' in identity && isFile) return;
  if ('refused' in identity)
    throw Object.assign(new Error(identity.refused), { statusCode: 403, isPlain: true });
  if ('user' in identity) {
    request.consoleUser = identity.user;
    return;
  }
  if (isFile || (isRead && (path === LOGIN || path.startsWith(`${LOGIN}/`)))) return;
  const isPage = request.method === 'GET' && (request.headers.accept ?? '').includes('text/html');
  if (isPage) return reply.redirect(`${LOGIN}?to=${encodeURIComponent(request.url)}`, 303);
  const message = isRead
    ? 'Nobody is logged in.'
    : 'You are not logged in, or your session has ended, and nothing was changed. Log in, and send it again.';
  throw Object.assign(new Error(message), { statusCode: 401, isLogin: true });
};
