import type { IncomingMessage } from 'node:http';
import { HooklineError } from '../../core/errors.ts';
import { releaseBytes } from '../../core/release-bytes.ts';
import type { Pacer } from './pacer.ts';

export type LargeReading = {
  /** Memory for the most bytes that the body may have: it is never copied as a whole. */
  readonly into: Buffer;
  /** What was read of it before. */
  readonly begun: readonly Buffer[];
  readonly pacer: Pacer;
  /** Its place among those that the pacer gives turns to. */
  readonly place: number;
  readonly onChunk: (chunk: Buffer) => void;
};

/**
 * Reads a large body into one piece of memory, chunk by chunk, at the pace that leaves others their turns.
 * @returns the part of `into` that it takes
 * @throws HooklineError BODY_INCOMPLETE where it is cut off, BODY_TOO_LARGE
 */
export function readLargeBody(request: IncomingMessage, reading: LargeReading): Promise<Buffer> {
  const { into, begun, pacer, place, onChunk } = reading;
  return new Promise((resolve, reject) => {
    let length = 0;
    let ended = false;
    const goOn = () => void request.resume();
    const keep = (chunk: Buffer) => {
      if (length + chunk.length > into.length) return finish(new HooklineError('BODY_TOO_LARGE'));
      chunk.copy(into, length);
      length += chunk.length;
      onChunk(chunk);
    };
    const onData = (chunk: Buffer) => {
      const bytes = chunk.length;
      keep(chunk);
      // Nobody else has it. Fifty megabytes of such pieces would be collected with the whole heap.
      releaseBytes(chunk);
      if (!pacer.take(bytes, place, goOn)) request.pause();
    };
    const onEnd = () => finish(null);
    const onClose = () => finish(new HooklineError('BODY_INCOMPLETE'));
    const finish = (error: HooklineError | null) => {
      ended = true;
      request.off('data', onData).off('end', onEnd).off('close', onClose);
      if (error) reject(error);
      else resolve(into.subarray(0, length));
    };
    request.on('error', () => {});
    request.on('end', onEnd).on('close', onClose);
    // Cut off while it waited for room: its events have passed.
    if (request.destroyed && !request.readableEnded) return finish(new HooklineError('BODY_INCOMPLETE'));
    for (const chunk of begun) if (!ended) keep(chunk);
    if (ended) return;
    request.on('data', onData);
    goOn();
  });
}
