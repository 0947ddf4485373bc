import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../core/clock.ts';
import type { FaultRule } from './fault-plan.ts';

/** Half of the bytes, then an error, at which the connection is cut. */
export async function* cutInHalf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes.subarray(0, Math.ceil(bytes.length / 2));
  // One turn of the loop, so that the first half is on its way before the connection goes.
  await setImmediate();
  throw new Error('a fault that was asked for: the body is cut');
}

/** Half of the bytes, then silence until the signal aborts. */
export async function* stallHalfway(bytes: Buffer, signal: AbortSignal): AsyncGenerator<Buffer> {
  yield bytes.subarray(0, Math.ceil(bytes.length / 2));
  await new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** All bytes, in about `pieces` pieces with `ms` between them. */
export async function* sendSlowly(
  bytes: Buffer,
  pace: { pieces: number; ms: number; clock: Clock; signal: AbortSignal },
): AsyncGenerator<Buffer> {
  const size = Math.max(1, Math.ceil(bytes.length / pace.pieces));
  for (let start = 0; start < bytes.length; start += size) {
    if (start > 0) await pace.clock.sleep(pace.ms, pace.signal);
    yield bytes.subarray(start, start + size);
  }
}

export const DEFAULT_PIECES = 10;

type StandIn = { status: number; headers: Record<string, string>; body: string };

/** The answer that a fault gives in the place of the real one; null for faults that don't answer by themselves. */
export function standInFor(rule: FaultRule): StandIn | null {
  switch (rule.kind) {
    case 'status': {
      const body = rule.body ?? { error: 'sandbox_fault', message: 'A fault that was asked for.' };
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
