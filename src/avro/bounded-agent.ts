import { type ClientRequest, Agent as HttpAgent, type IncomingMessage } from 'node:http';
import { type AgentOptions, Agent as HttpsAgent } from 'node:https';

export type AnswerLimits = {
  /** From the request to the last byte of its answer. */
  readonly timeoutMs: number;
  /** A larger answer is as good as none. */
  readonly mostBytes: number;
};

/** Node hands each request to its agent by this method; the types leave it out. */
type Adding = { addRequest(request: ClientRequest, ...others: unknown[]): void };

/**
 * An agent whose requests end in time. The registry's client has a time-out for silence only: it waits without end for
 * an answer that is cut off or comes a byte a second, and keeps an endless one in memory.
 */
export function boundedAgent(
  url: string,
  limits: AnswerLimits,
  tls: Pick<AgentOptions, 'ca'> = {},
): HttpAgent {
  const options = { keepAlive: true, timeout: limits.timeoutMs };
  const agent = url.startsWith('https:') ? new HttpsAgent({ ...options, ...tls }) : new HttpAgent(options);
  const adding = agent as unknown as Adding;
  const add = adding.addRequest.bind(agent);
  adding.addRequest = (request, ...others) => {
    bound(request, limits);
    add(request, ...others);
  };
  return agent;
}

function bound(request: ClientRequest, { timeoutMs, mostBytes }: AnswerLimits): void {
  const timer = setTimeout(() => request.destroy(new Error(`Timeout (${timeoutMs}ms)`)), timeoutMs);
  request.once('close', () => clearTimeout(timer));
  request.once('response', (answer: IncomingMessage) => {
    let bytes = 0;
    answer.on('data', (chunk: Buffer | string) => {
      bytes += Buffer.byteLength(chunk);
      if (bytes > mostBytes) request.destroy(new Error(`its answer is larger than ${mostBytes} bytes`));
    });
    // Nobody else listens: without this, the client would not hear that an answer is cut off.
    answer.once('error', (error) => request.emit('error', error));
  });
}
