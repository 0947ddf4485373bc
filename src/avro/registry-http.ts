import type { Agent, ClientRequest, IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { SecureContext } from 'node:tls';
import { NO_PROXIES, type ProxySettings } from '../config/proxy.ts';
import { AS_IT_IS } from '../runtime/http-client.ts';
import { Agent as HttpAgent, request as httpRequest } from '../runtime/node-http.ts';
import { httpsAgent } from '../runtime/tunnel.ts';
import type { TokenSource } from '../tokens/token-source.ts';

export type RegistryOptions = {
  readonly url: string;
  readonly auth?: { readonly username: string; readonly password: string };
  /** A bearer token for each request. */
  readonly tokens?: TokenSource;
  /** Further headers of each request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Of https: the authority that is trusted instead of the system's, and a client certificate. */
  readonly secureContext?: SecureContext;
  /** From a request to the end of its answer: a registry that hangs would hang the start. */
  readonly timeoutMs: number;
  /** Unset means that every connection is direct. */
  readonly proxy?: ProxySettings;
};

/** The largest schema that is read fits, escaped, and the names of tens of thousands of subjects. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

type AnswerLimits = {
  /** From the request to the last byte of its answer. */
  readonly timeoutMs: number;
  /** A larger answer is as good as none. */
  readonly maxBytes: number;
};

/** Of a tunnel through the proxy. */
const CONNECT_MS = 5_000;

/** Node hands each request to its agent by this method; the types leave it out. */
type Adding = { addRequest(request: ClientRequest, ...others: unknown[]): void };

/**
 * An agent whose requests end in time. The registry's client has a time-out for silence only: it waits without end for
 * an answer that is cut off or comes a byte a second, and keeps an endless one in memory.
 */
export function boundedAgent({ url, timeoutMs, secureContext, proxy = NO_PROXIES }: RegistryOptions): Agent {
  const limits = { timeoutMs, maxBytes: MAX_ANSWER_BYTES };
  const options = { keepAlive: true, timeout: timeoutMs };
  const agent = url.startsWith('https:')
    ? httpsAgent({ ...options, ...(secureContext && { secureContext }) }, { ...proxy, connectMs: CONNECT_MS })
    : new HttpAgent(options);
  const adding = agent as unknown as Adding;
  const add = adding.addRequest.bind(agent);
  adding.addRequest = (request, ...others) => {
    bound(request, limits);
    add(request, ...others);
  };
  return agent;
}

export const NO_REGISTRY = 'what answers is no schema registry';

/** Of a schema that is larger than what is read: it will be the next time too. */
export const LARGE_SCHEMA = 'the schema is larger than';
/** As answers with a schema begin; its version is told by its subject. */
const SCHEMA_BEGINS = /^\s*\{\s*"(schema|subject)/;

/** In place of the 404 of something that is no registry: who reads it must not take a schema for missing. */
export const NO_REGISTRY_STATUS = 599;

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** A registry says what it does not have by a code, such as 40403. Any other 404 is of something before it that does not find it. */
function isOfRegistry(body: Buffer): boolean {
  try {
    const answer: { error_code?: unknown } | null = JSON.parse(body.toString());
    return /^404/.test(String(answer?.error_code));
  } catch {
    return false;
  }
}

function bound(request: ClientRequest, { timeoutMs, maxBytes }: AnswerLimits): void {
  const timer = setTimeout(() => request.destroy(new Error(`Timeout (${timeoutMs}ms)`)), timeoutMs);
  request.once('close', () => clearTimeout(timer));
  request.once('response', (answer: IncomingMessage) => {
    let bytes = 0;
    let isSchema = false;
    const chunks: Buffer[] = [];
    answer.on('data', (chunk: Buffer | string) => {
      if (bytes === 0) isSchema = answer.statusCode === 200 && SCHEMA_BEGINS.test(String(chunk));
      bytes += Buffer.byteLength(chunk);
      if (answer.statusCode !== 200) chunks.push(Buffer.from(chunk));
      if (bytes <= maxBytes) return;
      const what = isSchema ? LARGE_SCHEMA : 'its answer is larger than';
      request.destroy(new Error(`${what} ${maxBytes} bytes`));
    });
    // Before whoever reads the status.
    answer.prependOnceListener('end', () => {
      const body = Buffer.concat(chunks);
      if (answer.statusCode === 404 && !isOfRegistry(body)) answer.statusCode = NO_REGISTRY_STATUS;
      const { statusCode = 0 } = answer;
      // The client follows no redirect, and takes it for an answer.
      if (statusCode >= 300 && statusCode < 400) {
        const told = REDIRECTS.has(statusCode)
          ? `it redirects to another address (${statusCode})`
          : `it answers ${statusCode}`;
        request.emit('error', new Error(`${NO_REGISTRY}: ${told}`));
      }
      // The client looks for a message in what an answer holds: in null it throws where nobody catches it, which ends the process.
      else if (body.toString().trim() === 'null') request.emit('error', new Error(NO_REGISTRY));
    });
    // Nobody else listens: without this, the client would not hear that an answer is cut off.
    answer.once('error', (error) => request.emit('error', error));
  });
}

/** What each request carries beside a password: the client's middleware asks for it. Nothing here unpacks an answer. */
export async function headersFor({ tokens, headers = {} }: RegistryOptions): Promise<Record<string, string>> {
  return { ...AS_IT_IS, ...headers, ...(tokens && { authorization: `Bearer ${await tokens.get()}` }) };
}

type Answer = { readonly status: number; readonly body: string; readonly date: string | undefined };

/**
 * One request that the registry's client does not have. Rejects as the client does: with an error that has the status.
 * @param path behind the registry's address
 */
export async function callRegistry<T>(
  options: RegistryOptions & { readonly agent: Agent },
  method: 'GET' | 'DELETE',
  path: string,
): Promise<T> {
  const { status, body } = await askRegistry(options, method, path);
  if (status >= 300)
    throw Object.assign(new Error(`${method} ${path} - ${body}, status ${status}`), { status });
  return JSON.parse(body) as T;
}

/** One request, whatever the registry answers to it. */
export async function askRegistry(
  options: RegistryOptions & { readonly agent: Agent },
  method: 'GET' | 'DELETE',
  path: string,
): Promise<Answer> {
  const { url, auth, agent } = options;
  const headers = { accept: 'application/vnd.schemaregistry.v1+json', ...(await headersFor(options)) };
  return new Promise((resolve, reject) => {
    const send = url.startsWith('https:') ? httpsRequest : httpRequest;
    const credentials = auth && { auth: `${auth.username}:${auth.password}` };
    const request = send(url + path, { method, agent, headers, ...credentials }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.once('end', () => {
        const body = Buffer.concat(chunks).toString();
        resolve({ status: answer.statusCode ?? 0, body, date: answer.headers.date });
      });
    });
    // Each one: an answer that is cut off says so, and so does its request. One that nobody hears would end the process.
    request.on('error', reject).end();
  });
}
