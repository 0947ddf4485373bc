import { readFileSync } from 'node:fs';
import type { SecureContext } from 'node:tls';
import type { Agent } from 'undici';
import { NO_PROXIES, type ProxySettings } from '../config/proxy.ts';
import { type RenewalObserver, renewedFrom } from '../config/renewed-files.ts';
import type { Clock } from './clock.ts';
import { orAborted } from './or-aborted.ts';
import { namedFiles, presentIn, type TlsFiles, type TlsMaterial, tlsMaterial } from './tls-files.ts';
import { createConnector } from './tunnel.ts';

export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** From the connection to the last byte of the answer. */
  readonly timeoutMs: number;
  /** A larger answer is as good as none. */
  readonly maxAnswerBytes: number;
};

export type HttpAnswer = {
  readonly status: number;
  readonly retryAfter: string | undefined;
  /** The clock of who answered. */
  readonly date?: string | undefined;
  readonly body: string;
};

/**
 * Sends one request, within its time-out. Rejects where no whole answer came: the effect is then unknown, so that
 * nobody else may cut it short. Redirects are not followed.
 */
export type Http = {
  send(request: HttpRequest): Promise<HttpAnswer>;
  stop(): Promise<void>;
};

/** With its first request: an ingress without tokens makes none, and is ready sooner. */
const loadUndici = () => import('undici');
type Undici = Awaited<ReturnType<typeof loadUndici>>;

const NO_FILES: Partial<TlsMaterial> = {};

/** Codings that pack an answer. Some servers name a character set as the coding: that packs nothing. */
const PACKINGS = /\b(?:gzip|deflate|compress|br|zstd)\b/i;

/** The header without which a server may pack its answer as it likes (RFC 9110, 12.5.3). */
export const AS_IT_IS = { 'accept-encoding': 'identity' };

/** Of answers that are larger one at a time is read on: dozens of commands may be in work. */
const SMALL_ANSWER_BYTES = 256 * 1024;

/**
 * @param options.proxy unset means that every connection is direct
 * @param options.tls read again when one of them changes, for the next connection
 * @throws HooklineError CREDENTIALS_INVALID where one of them cannot be used
 */
export function createHttp(options: {
  tls: TlsFiles;
  files: RenewalObserver;
  clock: Clock;
  proxy?: ProxySettings;
}): Http {
  const files = namedFiles(options.tls);
  const current = renewedFrom({
    files,
    read: (path) => readFileSync(path),
    observer: options.files,
    make: (contents) => (files.length > 0 ? tlsMaterial(options.tls, contents) : NO_FILES),
  });
  presentIn(options.files, options.tls, current);
  let made: { readonly of: ReturnType<typeof current>; readonly agent: Agent } | undefined;
  const stopping = new AbortController();
  /** The one for the next request; what is in progress over the one before comes to its end. */
  const nextAgent = (undici: Undici) => {
    if (stopping.signal.aborted) throw new Error('the client was stopped');
    const of = current();
    if (made?.of !== of) {
      void made?.agent.close();
      const { context: secureContext } = of;
      const secure = { ...(secureContext && { secureContext }), stopping: stopping.signal };
      made = { of, agent: createAgent(undici, options.proxy, secure) };
    }
    return made.agent;
  };
  const lock = createLock();
  return {
    async send({ method, url, headers, body, timeoutMs, maxAnswerBytes }) {
      const deadline = new AbortController();
      const { signal } = deadline;
      const timer = options.clock.after(timeoutMs, () =>
        deadline.abort(new DOMException(`no whole answer within ${timeoutMs} ms`, 'TimeoutError')),
      );
      try {
        const undici = await loadUndici();
        const answer = await undici.request(url, {
          method,
          headers: { ...AS_IT_IS, ...headers },
          ...(body === undefined ? {} : { body }),
          dispatcher: nextAgent(undici),
          signal,
        });
        const { 'retry-after': retryAfter, 'content-encoding': coding, date } = answer.headers;
        const text = await readText(answer.body, { maxAnswerBytes, signal, lock });
        // Of a failure the status says enough. What a success says is not known.
        const packing = PACKINGS.exec(String(coding))?.[0];
        if (answer.statusCode < 300 && packing !== undefined && text !== '')
          throw new Error(`its answer is packed (${packing}), which was not asked for`);
        return {
          status: answer.statusCode,
          retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined,
          date: typeof date === 'string' ? date : undefined,
          body: text,
        };
      } finally {
        timer.cancel();
      }
    },
    async stop() {
      stopping.abort();
      await made?.agent.destroy();
    },
  };
}

function createAgent(
  undici: Undici,
  proxy: ProxySettings = NO_PROXIES,
  connecting: { readonly secureContext?: SecureContext; readonly stopping: AbortSignal },
): Agent {
  return new undici.Agent({
    connect: createConnector(undici, proxy, { timeout: 5_000, ...connecting }),
    // Each request has a time-out of its own.
    headersTimeout: 0,
    bodyTimeout: 0,
    // Its requests are rare: a connection that waited for minutes is more likely dead than alive.
    keepAliveTimeout: 4_000,
  });
}

/** The standard's fetch, through the proxy where one is on the way: of clients that take nothing else. */
export function fetchThrough(settings: ProxySettings): typeof fetch {
  if (!settings.proxy) return fetch;
  let agent: Agent | undefined;
  return async (url, init) => {
    const undici = await loadUndici();
    agent ??= createAgent(undici, settings, { stopping: new AbortController().signal });
    const options = { ...init, dispatcher: agent } as Parameters<Undici['fetch']>[1];
    return (await undici.fetch(String(url), options)) as unknown as Response;
  };
}

/** Nothing is unpacked: a packed answer was not asked for. What is left unread ends the connection. */
async function readText(
  body: AsyncIterable<Buffer>,
  { maxAnswerBytes, signal, lock }: { maxAnswerBytes: number; signal: AbortSignal; lock: Lock },
): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let unlock: (() => void) | undefined;
  try {
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > maxAnswerBytes) throw new Error(`its answer is larger than ${maxAnswerBytes} bytes`);
      if (bytes > SMALL_ANSWER_BYTES) unlock ??= await lock(signal);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString();
  } finally {
    unlock?.();
  }
}

/** Waits for the lock, and gives what releases it. */
type Lock = (signal: AbortSignal) => Promise<() => void>;

function createLock(): Lock {
  let last: Promise<void> = Promise.resolve();
  return async (signal) => {
    const before = last;
    const own = Promise.withResolvers<void>();
    last = own.promise;
    try {
      await orAborted(before, signal);
    } catch (error) {
      // A call that stops waiting passes its turn on only if the turn had reached it.
      void before.then(own.resolve);
      throw error;
    }
    return own.resolve;
  };
}

/** RFC 9110's IMF-fixdate, and no more: `Date.parse` takes "-5" and "soon 1" for dates of the year 2001. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;
const MAX_WAIT_MS = 5 * 60_000;

/**
 * Milliseconds to wait, from Retry-After in seconds or as a date, bounded; null where it says nothing. A date is meant by the
 * clock of who answers, which the answer's Date tells; `now` is ours.
 */
export function retryAfterMs(
  { retryAfter, date = '' }: Pick<HttpAnswer, 'retryAfter' | 'date'>,
  now: number,
): number | null {
  const text = retryAfter?.trim() ?? '';
  const theirs = (HTTP_DATE.test(date) && Date.parse(date)) || now;
  const ms = /^\d+$/.test(text)
    ? Number(text) * 1_000
    : HTTP_DATE.test(text)
      ? Date.parse(text) - theirs
      : NaN;
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), MAX_WAIT_MS);
}
