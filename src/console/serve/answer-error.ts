import type { FastifyReply, FastifyRequest } from 'fastify';
import { HooklineError } from '../../core/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { ownPath } from '../access/login-routes.ts';
import { address, type Html, html, type Shown } from '../page/html.ts';
import { layout } from '../page/layout.ts';
import { type Page, PageError } from '../page/page.ts';

/** What the sender wants to have: a page by default. */
export function accepts({ headers: { accept = '' } }: FastifyRequest): 'html' | 'json' | 'events' {
  if (accept.includes('text/event-stream')) return 'events';
  return accept.includes('application/json') && !accept.includes('text/html') ? 'json' : 'html';
}

type Fault = Error & {
  readonly statusCode?: number;
  readonly code?: string;
  readonly isPlain?: boolean;
  readonly isLogin?: boolean;
};

/** What was posted, to be corrected. Not in the error: requests can share one. */
const forms = new WeakMap<FastifyRequest, Html>();

/** The answer to a request that fails has this form below its error. */
export function showAgain(request: FastifyRequest, form: Html): void {
  forms.set(request, form);
}

/** A failure as a page or as JSON, in a sentence that says what would be right. */
export function answerError(
  error: Fault,
  request: FastifyRequest,
  reply: FastifyReply,
  { pages, logger }: { readonly pages: readonly Page[]; readonly logger: Logger },
) {
  const { status, message } = describe(error);
  if (status >= 500) logger.error({ err: error, path: request.routeOptions.url }, 'a request failed');
  reply.code(status);
  if (accepts(request) !== 'html') return reply.type('application/json').send({ status, message });
  // Nobody who is not known is shown what there is.
  const [path = ''] = request.url.split('?', 1);
  const frame = { pages: error.isPlain ? [] : pages, path, user: request.consoleUser ?? undefined };
  const content = html`<p class="verdict ${status >= 500 ? 'bad' : 'note'}">${message}</p>${nextOf(error, request, status, frame.pages)}`;
  return reply
    .type('text/html; charset=utf-8')
    .send(layout({ ...frame, title: TITLES[status] ?? 'It failed', content }).toString());
}

/** What can end otherwise is offered again; a form is sent again from its page. */
function nextOf(error: Fault, request: FastifyRequest, status: number, pages: readonly Page[]): Shown {
  const { method, url, routeOptions } = request;
  const form = pages.find(({ changes = [] }) => changes.some(({ path }) => path === routeOptions.url));
  if (error.isLogin)
    return html`<p><a class="button" href="${address('/login', { to: form?.path ?? '' })}">Log in</a></p>`;
  const typed = forms.get(request);
  if (typed) return typed;
  if (method === 'POST') {
    return form && html`<p><a class="button" href="${form.path}">Back to ${form.title}</a></p>`;
  }
  const mayEndOtherwise = method === 'GET' && (status === 429 || status >= 500) && ownPath(url) === url;
  return mayEndOtherwise && html`<p><a class="button" href="${url}">Try again</a></p>`;
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'The request cannot be used',
  401: 'Log in',
  403: 'Not allowed',
  404: 'Not found',
  413: 'Too large',
  415: 'The request cannot be used',
  429: 'Too many requests',
  503: 'Not available now',
};

/** A failure as the audit trail has it. */
export const sentenceOf = (error: unknown): string => {
  if (error instanceof HooklineError) return `${error.code}: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
};

/** A failure as an open page has it. */
export const messageOf = (error: Error): string => describe(error).message;

function describe(error: Fault): { readonly status: number; readonly message: string } {
  if (error instanceof PageError) return { status: error.status, message: error.message };
  if (error instanceof HooklineError) return { status: 503, message: sentenceOf(error) };
  if (error.code?.startsWith('FST_CSRF'))
    return {
      status: 403,
      message: 'This form is no longer valid: load the page again, and send it once more.',
    };
  const { statusCode: status = 500, message } = error;
  if (status === 413) return { status, message: 'More than 2 MiB cannot be posted.' };
  if (status === 429) return { status, message: 'Too many requests in a minute: wait, and try again.' };
  // A client of Kafka or of the registry: it says what is wrong, and holds no secret.
  return { status: status >= 500 ? 503 : status, message };
}
