import type { IncomingMessage, ServerResponse } from 'node:http';
import { serve } from '../../support/serve.ts';
import type { Gate } from './gate.ts';

/** The only way of the process under test to the provider: each request and each answer goes through the gate. */
export async function openProviderGate({ target, gate }: { readonly target: string; readonly gate: Gate }) {
  let isUnavailable = false;
  let hangs = (_: string) => false;
  const held: ServerResponse[] = [];
  const server = await serve(async (request, response) => {
    if (isUnavailable) return void request.socket.destroy();
    if (hangs(request.url ?? '')) return void held.push(response);
    const name = nameOf(request);
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const nth = gate.before(name);
      if (nth === null) return void request.socket.destroy();
      const { method = 'GET', url = '/' } = request;
      const headers = Object.entries(request.headers).filter(([header]) => PASSED.has(header));
      const answer = await fetch(target + url, {
        method,
        redirect: 'manual',
        headers: Object.fromEntries(headers) as Record<string, string>,
        ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
      });
      const body = Buffer.from(await answer.arrayBuffer());
      if (!gate.after(name, nth)) return void request.socket.destroy();
      response.writeHead(answer.status, {
        'content-type': answer.headers.get('content-type') ?? 'text/plain',
      });
      response.end(body);
    } catch {
      // The service cut the connection, or the process that asked is gone.
      request.socket.destroy();
    }
  });
  return {
    ...server,
    /** As when nobody is there: connections break. */
    setUnavailable(to: boolean) {
      isUnavailable = to;
    },
    /** Requests with such a path get no answer, and never arrive. */
    hang(which: (path: string) => boolean) {
      hangs = which;
    },
    hanging: () => held.length,
  };
}

const PASSED = new Set(['authorization', 'content-type', 'accept']);

const nameOf = ({ method, url = '' }: IncomingMessage) => `${method} ${url.split('/').slice(0, 2).join('/')}`;
