import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';

export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** From the connection to the last byte of the answer. */
  readonly timeoutMs: number;
};

export type HttpAnswer = {
  readonly status: number;
  readonly retryAfter: string | undefined;
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

/** Told of each request: which operation, how the answer was judged, and how long it took. */
export type OnRequest = (operation: string, outcome: string, seconds: number) => void;

/** An answer of the management API; more is not read. */
const MOST_ANSWER_BYTES = 8 * 1024 * 1024;

export function createHttp(options: { caFile: string | undefined }): Http {
  const agent = new Agent({
    connect: {
      timeout: 5_000,
      ...(options.caFile === undefined ? {} : { ca: readFileSync(options.caFile, 'utf8') }),
    },
    // Each request has a time-out of its own.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxResponseSize: MOST_ANSWER_BYTES,
    // Its requests are rare: a connection that waited for minutes is more likely dead than alive.
    keepAliveTimeout: 4_000,
  });
  return {
    async send({ method, url, headers, body, timeoutMs }) {
      const answer = await request(url, {
        method,
        headers,
        ...(body === undefined ? {} : { body }),
        dispatcher: agent,
        signal: AbortSignal.timeout(timeoutMs),
      });
      const retryAfter = answer.headers['retry-after'];
      return {
        status: answer.statusCode,
        retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined,
        body: await answer.body.text(),
      };
    },
    stop: () => agent.destroy(),
  };
}
