import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { html } from '../page/html.ts';
import { layout } from '../page/layout.ts';
import { type LiveUpdate, type Page, PageError, type PageRequest } from '../page/page.ts';
import { may, type Role, type User } from '../settings/roles.ts';
import { accepts } from './answer-error.ts';
import type { Audit } from './audit.ts';

export type Serving = {
  readonly pages: readonly Page[];
  readonly audit: Audit;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly stopping: AbortSignal;
  readonly canLogOut: boolean;
  /** Of changes, per user. */
  readonly limit: { readonly max: number; readonly timeWindow: number };
};

/** One address, three forms: the page, its data as JSON, and its updates as server-sent events. */
export function servePage(app: FastifyInstance, page: Page, serving: Serving): void {
  const streams = new Set<object>();
  app.get(page.path, async (request, reply) => {
    reply.header('vary', 'accept, cookie');
    const given = requestOf(request, reply, serving);
    require(given.user, page.role);
    const kind = accepts(request);
    if (kind === 'events') return openStream(page, given, reply, { ...serving, streams });
    const data = await page.data(given);
    // A form or a client that posts needs it, and a token is nothing without its cookie.
    if (kind === 'json') return reply.header('csrf-token', tokenOf(reply, given.user)).send(data);
    const content = page.render(data, given);
    return reply.type('text/html; charset=utf-8').send(frameOf(page, given, serving, { content }).toString());
  });
}

/** The document around a content, for a page and for what its changes show. */
export const frameOf = (
  page: Page,
  request: PageRequest,
  { pages, canLogOut }: Pick<Serving, 'pages' | 'canLogOut'>,
  { content, title = page.title }: { content: ReturnType<typeof html>; title?: string },
) =>
  layout({
    ...{ pages, canLogOut, content, title },
    path: page.path,
    user: request.user,
    cli: page.cli(request),
    isLive: page.live !== undefined && title === page.title,
    csrfField: request.csrfField,
  });

export function require(user: User, role: Role): void {
  if (!may(user, role))
    throw new PageError(
      403,
      `${user.name} does not have the role ${role}. CONSOLE_ROLES gives roles to groups.`,
    );
}

const tokenOf = (reply: FastifyReply, { name }: User): string =>
  (reply.generateCsrf as (options: object) => string)({ userInfo: name });

export function requestOf(request: FastifyRequest, reply: FastifyReply, serving: Serving): PageRequest {
  const user = request.consoleUser;
  if (!user) throw new PageError(403, 'Nobody is logged in.');
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  let field: ReturnType<typeof html> | undefined;
  return {
    params: request.params as Record<string, string>,
    query: lastOfEach(request.query as Record<string, unknown>),
    user,
    may: (role) => may(user, role),
    signal: AbortSignal.any([gone.signal, serving.stopping]),
    get csrfField() {
      field ??= html`<input type="hidden" name="_csrf" value="${tokenOf(reply, user)}">`;
      return field;
    },
    async audit(action, details) {
      const end = await serving.audit.begin({ user: user.name, action, details });
      await end('done');
    },
  };
}

const lastOfEach = (query: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, String(Array.isArray(value) ? value.at(-1) : value)]),
  );

/** Open pages at a time: each holds a connection, and one of a topic also a reader. */
const MAX_STREAMS = 50;
/** Proxies close what is silent for a minute, and a page that hears nothing says that it is out of date. */
const HEARTBEAT_MS = 15_000;
/** Then the browser asks anew, and a user whose session has ended, or whose role, is no longer answered. */
const LONGEST_MS = 10 * 60_000;
const MAX_UNREAD_CHARACTERS = 1024 * 1024;
/** Who has not read the end of a stream by then reads nothing. */
const END_READ_MS = 10_000;

function openStream(
  page: Page,
  request: PageRequest,
  reply: FastifyReply,
  { streams, clock, logger }: Pick<Serving, 'clock' | 'logger'> & { streams: Set<object> },
) {
  if (!page.live) throw new PageError(404, 'This page has no updates.');
  if (streams.size >= MAX_STREAMS)
    throw new PageError(503, `${MAX_STREAMS} readers have this page open already.`);
  streams.add(request);
  const stream = new Readable({ read() {} });
  let isOver = false;
  const finish = () => {
    if (isOver) return;
    isOver = true;
    stream.push(null);
    clock.after(END_READ_MS, () => reply.raw.destroy(), { ref: false });
  };
  const breakOff = () => {
    isOver = true;
    reply.raw.destroy();
  };
  const push = (text: string) => {
    if (isOver) return;
    stream.push(text);
    // It does not read, and would not read the end either: what is kept for it would fill the memory. A browser comes again.
    if (stream.readableLength > MAX_UNREAD_CHARACTERS) breakOff();
  };
  const end = clock.after(LONGEST_MS, finish, { ref: false });
  const heartbeat = clock.every(HEARTBEAT_MS, () => push('event: beat\ndata: 1\n\n'), { ref: false });
  const send = async () => {
    push('retry: 1000\n\n');
    for await (const update of page.live?.(request) ?? []) {
      if (request.signal.aborted || isOver) return;
      push(`data: ${JSON.stringify(asText(update))}\n\n`);
    }
  };
  send()
    .catch((error: unknown) => {
      if (!request.signal.aborted)
        logger.warn({ err: error, path: page.path }, 'the updates of a page ended');
    })
    .finally(() => {
      heartbeat.cancel();
      end.cancel();
      streams.delete(request);
      finish();
    });
  request.signal.addEventListener('abort', () => stream.destroy(), { once: true });
  // Proxies such as NGINX would hold updates back.
  return reply.type('text/event-stream').header('x-accel-buffering', 'no').send(stream);
}

const asText = (update: LiveUpdate) => ({ ...update, html: update.html?.toString() });
