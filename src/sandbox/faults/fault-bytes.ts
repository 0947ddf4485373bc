import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../runtime/clock.ts';
import type { FaultRule } from './fault-plan.ts';

/** Half of the bytes, then an error, which closes the connection. */
export async function* truncate(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes.subarray(0, Math.ceil(bytes.length / 2));
  // One turn of the event loop, so that the first half is sent before the connection closes.
  await setImmediate();
  throw new Error('injected fault: the body is incomplete');
}

/** Half of the bytes, then silence until the signal aborts. */
export async function* stall(bytes: Buffer, signal: AbortSignal): AsyncGenerator<Buffer> {
  yield bytes.subarray(0, Math.ceil(bytes.length / 2));
  await new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** All bytes, in about `chunks` chunks with `ms` milliseconds between them. */
export async function* sendSlowly(
  bytes: Buffer,
  pace: { chunks: number; ms: number; clock: Clock; signal: AbortSignal },
): AsyncGenerator<Buffer> {
  const size = Math.max(1, Math.ceil(bytes.length / pace.chunks));
  for (let start = 0; start < bytes.length; start += size) {
    if (start > 0) await pace.clock.sleep(pace.ms, { signal: pace.signal });
    yield bytes.subarray(start, start + size);
  }
}

export const DEFAULT_CHUNKS = 10;

type Replacement = { status: number; headers: Record<string, string>; body: string };

/** The answer of a fault that replaces the real one; null for faults that have no answer of their own. */
export function replacementFor(rule: FaultRule): Replacement | null {
  switch (rule.kind) {
    case 'status': {
      const body = rule.body ?? { error: 'sandbox_fault', message: 'An injected fault.' };
      const text = typeof body === 'string';
      return {
        status: rule.code ?? 500,
        headers: { 'content-type': text ? 'text/plain' : 'application/json', ...lowerCase(rule.headers) },
        body: text ? body : JSON.stringify(body),
      };
    }
    case 'redirect':
      return {
        status: rule.code ?? 307,
        headers: { location: rule.location ?? '/redirected-by-the-sandbox' },
        body: '',
      };
    case 'html-200':
      return {
        status: 200,
        headers: { 'content-type': 'text/html' },
        body: '<!doctype html><title>Sign in</title><p>Please sign in to continue.</p>',
      };
    default:
      return null;
  }
}

const lowerCase = (headers: FaultRule['headers']) =>
  Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
