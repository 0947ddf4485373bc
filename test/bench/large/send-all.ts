import { Agent, request } from 'node:http';
import type { LargeBody } from './bodies.ts';

export type Sent = {
  /** null where the connection ended without an answer. */
  readonly status: number | null;
  readonly seconds: number;
  readonly entityId: string;
};

/** Sends all at once, each over a connection of its own, and gives what each was answered. */
export async function sendAll(
  url: URL,
  bodies: readonly LargeBody[],
  signatureFor: (body: LargeBody) => string,
): Promise<Sent[]> {
  const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });
  const sent = await Promise.all(bodies.map((body) => sendOne(agent, url, body, signatureFor(body))));
  agent.destroy();
  return sent;
}

function sendOne(agent: Agent, url: URL, { body, entityId }: LargeBody, signature: string): Promise<Sent> {
  const start = performance.now();
  const headers = {
    'content-type': 'application/octet-stream',
    'content-length': body.length,
    'x-signature-sha256': signature,
  };
  return new Promise((resolve) => {
    const end = (status: number | null) =>
      resolve({ status, entityId, seconds: (performance.now() - start) / 1_000 });
    const sending = request(url, { method: 'POST', agent, headers }, (response) => {
      response.resume();
      end(response.statusCode ?? null);
    });
    // An answer may come before all is sent; what then becomes of the connection is of no interest.
    sending.on('error', () => end(null));
    sending.end(body);
  });
}
