import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';

export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** From the connection to the last byte of the answer. */
  readonly timeoutMs: number;
  /** A larger answer is as good as none. */
  readonly mostAnswerBytes: number;
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

/** Of answers that are larger one at a time is read on: dozens of commands may be in work. */
const SMALL_ANSWER_BYTES = 256 * 1024;

export function createHttp(options: { caFile: string | undefined }): Http {
  const agent = new Agent({
    connect: {
      timeout: 5_000,
      ...(options.caFile === undefined ? {} : { ca: readFileSync(options.caFile, 'utf8') }),
    },
    // Each request has a time-out of its own.
    headersTimeout: 0,
    bodyTimeout: 0,
    // Its requests are rare: a connection that waited for minutes is more likely dead than alive.
    keepAliveTimeout: 4_000,
  });
  const turns = createTurns();
  return {
    async send({ method, url, headers, body, timeoutMs, mostAnswerBytes }) {
      const signal = AbortSignal.timeout(timeoutMs);
      const answer = await request(url, {
        method,
        headers,
        ...(body === undefined ? {} : { body }),
        dispatcher: agent,
        signal,
      });
      const retryAfter = answer.headers['retry-after'];
      return {
        status: answer.statusCode,
        retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined,
        body: await readText(answer.body, { mostAnswerBytes, signal, turns }),
      };
    },
    stop: () => agent.destroy(),
  };
}

/** Nothing is unpacked: a compressed answer was not asked for, and is no JSON. What is left unread ends the connection. */
async function readText(
  body: AsyncIterable<Buffer>,
  { mostAnswerBytes, signal, turns }: { mostAnswerBytes: number; signal: AbortSignal; turns: Turns },
): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let endTurn: (() => void) | undefined;
  try {
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > mostAnswerBytes) throw new Error(`its answer is larger than ${mostAnswerBytes} bytes`);
      if (bytes > SMALL_ANSWER_BYTES) endTurn ??= await turns(signal);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString();
  } finally {
    endTurn?.();
  }
}

/** Waits for the turn, and gives what ends it. */
type Turns = (signal: AbortSignal) => Promise<() => void>;

function createTurns(): Turns {
  let last: Promise<void> = Promise.resolve();
  return async (signal) => {
    const before = last;
    const own = Promise.withResolvers<void>();
    last = own.promise;
    const aborted = Promise.withResolvers<never>();
    const abort = () => aborted.reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    try {
      await Promise.race([before, aborted.promise]);
    } catch (error) {
      // Who gives up its place leaves it to the next one only when it would have had it.
      void before.then(own.resolve);
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
    return own.resolve;
  };
}
