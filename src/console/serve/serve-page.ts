import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { html } from '../page/html.ts';
import { layout } from '../page/layout.ts';
import { checkRole, type Page, PageError, type PageRequest } from '../page/page.ts';
import { may, type User } from '../settings/roles.ts';
import { accepts } from './answer-error.ts';
import type { Audit } from './audit.ts';
import { openStream, type Streams } from './streams.ts';

export type Serving = {
  readonly pages: readonly Page[];
  readonly audit: Audit;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly stopping: AbortSignal;
  readonly canLogOut: boolean;
  /** Rejects where a user has made too many changes. */
  readonly limitChange: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  readonly streams: Streams;
};

/** One address, three forms: the page, its data as JSON, and its updates as server-sent events. */
export function servePage(app: FastifyInstance, page: Page, serving: Serving): void {
  app.get(page.path, async (request, reply) => {
    reply.header('vary', 'accept, cookie');
    const given = requestOf(request, reply, serving);
    checkRole(given, page.role);
    const kind = accepts(request);
    if (kind === 'events') return openStream(page, given, reply, serving);
    const data = await page.data(given);
    // A form or a client that posts needs it, and a token is nothing without its cookie.
    if (kind === 'json') return reply.header('csrf-token', tokenOf(reply, given.user)).send(data);
    const content = page.render(data, given);
    return reply
      .type('text/html; charset=utf-8')
      .send(frameOf(page, given, serving, { content, data }).toString());
  });
}

/** The document around a content, for a page and for what its changes show. */
export const frameOf = (
  page: Page,
  request: PageRequest,
  { pages, canLogOut }: Pick<Serving, 'pages' | 'canLogOut'>,
  shown: { content: ReturnType<typeof html>; title?: string; data?: object; cli?: string | undefined },
) => {
  const { content, title = page.title, data, cli = page.cli(request, data) } = shown;
  return layout({
    pages,
    canLogOut,
    content,
    title,
    subject: title === page.title ? page.subject?.(request) : undefined,
    cli,
    path: page.path,
    user: request.user,
    isLive: page.live !== undefined && title === page.title,
    csrfField: request.csrfField,
  });
};

const tokenOf = (reply: FastifyReply, { name }: User): string =>
  (reply.generateCsrf as (options: object) => string)({ userInfo: name });

export function requestOf(request: FastifyRequest, reply: FastifyReply, serving: Serving): PageRequest {
  const user = request.consoleUser;
  if (!user) throw new PageError(403, 'Nobody is logged in.');
  const gone = new AbortController();
  // The reader may have left while it was identified.
  if (reply.raw.destroyed) gone.abort();
  else reply.raw.once('close', () => gone.abort());
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
