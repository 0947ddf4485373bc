import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../core/clock.ts';

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
