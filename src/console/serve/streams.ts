import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { type LiveUpdate, type Page, PageError, type PageRequest } from '../page/page.ts';
import { messageOf } from './answer-error.ts';

/** Open pages at a time: each holds a connection, and one of a topic also a reader. */
const MAX_OF_PAGE = 50;
/** A browser opens six to one address. */
const MAX_OF_USER = 10;
/** Proxies close what is silent for a minute, and a page that hears nothing says that it is out of date. */
const HEARTBEAT_MS = 15_000;
/** Then the browser asks anew, and a user whose session has ended, or whose role, is no longer answered. */
const LONGEST_MS = 10 * 60_000;
const MAX_UNREAD_CHARACTERS = 1024 * 1024;
/** Who has not read the end of a stream by then reads nothing. */
const END_READ_MS = 10_000;

/** Who has which pages open. */
export class Streams {
  readonly #open = new Set<{ readonly path: string; readonly user: string }>();

  /** @returns ends it @throws PageError where there are too many */
  begin(path: string, user: string): () => void {
    const count = (isIt: (one: { path: string; user: string }) => boolean) =>
      [...this.#open].filter(isIt).length;
    if (count((one) => one.user === user) >= MAX_OF_USER)
      throw new PageError(
        429,
        `${user} has ${MAX_OF_USER} pages open that change by themselves, and more are not updated: close one, and load this page again.`,
      );
    if (count((one) => one.path === path) >= MAX_OF_PAGE)
      throw new PageError(503, `${MAX_OF_PAGE} readers have this page open already.`);
    const stream = { path, user };
    this.#open.add(stream);
    return () => void this.#open.delete(stream);
  }
}

/** Sends the updates of a page as server-sent events, until its reader leaves or is too slow. */
export function openStream(
  page: Page,
  request: PageRequest,
  reply: FastifyReply,
  { streams, clock, logger }: { readonly streams: Streams; readonly clock: Clock; readonly logger: Logger },
) {
  if (!page.live) throw new PageError(404, 'This page has no updates.');
  const leave = streams.begin(page.path, request.user.name);
  const over = new AbortController();
  const signal = AbortSignal.any([request.signal, over.signal]);
  const stream = new Readable({ read() {} });
  const finish = () => {
    if (over.signal.aborted) return;
    over.abort();
    stream.push(null);
    clock.after(END_READ_MS, () => reply.raw.destroy(), { ref: false });
  };
  const breakOff = () => {
    over.abort();
    reply.raw.destroy();
  };
  const push = (text: string) => {
    if (signal.aborted) return;
    stream.push(text);
    // It does not read, and would not read the end either: what is kept for it would fill the memory. A browser comes again.
    if (stream.readableLength > MAX_UNREAD_CHARACTERS) breakOff();
  };
  const end = clock.after(LONGEST_MS, finish, { ref: false });
  let isRead = false;
  // Before its first update nothing tells that a page is up to date.
  const heartbeat = clock.every(
    HEARTBEAT_MS,
    () => push(isRead ? 'event: beat\ndata: 1\n\n' : ': waiting\n\n'),
    { ref: false },
  );
  // Whatever ends it: a page that waits for something does not hold the place of one that is read.
  const close = () => {
    heartbeat.cancel();
    end.cancel();
    leave();
  };
  const send = async () => {
    push('retry: 1000\n\n');
    // No copy: that would call the getter of `csrfField`, which makes a token.
    const lasting: PageRequest = Object.create(request, { signal: { value: signal } });
    for await (const update of page.live?.(lasting) ?? []) {
      if (signal.aborted) return;
      isRead = true;
      push(`data: ${JSON.stringify(asText(update))}\n\n`);
    }
  };
  if (signal.aborted) {
    close();
    stream.destroy();
  } else {
    request.signal.addEventListener('abort', () => stream.destroy(), { once: true });
    signal.addEventListener('abort', close, { once: true });
    send()
      .catch((error: Error) => {
        if (signal.aborted) return;
        logger.warn({ err: error, path: page.path }, 'the updates of a page ended');
        push(`event: failed\ndata: ${JSON.stringify(messageOf(error))}\n\n`);
      })
      .finally(finish);
  }
  // Proxies such as NGINX would hold updates back.
  return reply.type('text/event-stream').header('x-accel-buffering', 'no').send(stream);
}

const asText = (update: LiveUpdate) => ({ ...update, html: update.html?.toString() });
