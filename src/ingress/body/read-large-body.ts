import type { IncomingMessage } from 'node:http';
import { HooklineError } from '../../core/errors.ts';
import { releaseBytes } from '../../core/release-bytes.ts';
import { reasonOf } from './admission-queue.ts';
import type { BodyMemory } from './body-memory.ts';
import { costOf } from './counted-request.ts';
import type { OpenBody } from './open-bodies.ts';
import type { Pieces } from './pieces.ts';
import type { Ticket } from './throttle.ts';

export type LargeReading = {
  /** Memory for the most bytes that the body may have: it is never copied as a whole. */
  readonly into: Buffer;
  /** What was read of it before, and shown to `onChunk`. */
  readonly begun: Pieces;
  readonly memory: BodyMemory;
  readonly open: OpenBody;
  /** Its ticket for turns to read. */
  readonly ticket: Ticket;
  /** Ends it with its reason: it was cut off, or others need its memory. Nothing is written to `into` afterwards. */
  readonly gone: AbortSignal;
  readonly onChunk: (chunk: Buffer) => void;
};

/**
 * Reads a large body into one piece of memory, chunk by chunk, throttled so that others have their turns.
 * @returns the part of `into` that it takes
 * @throws HooklineError BODY_INCOMPLETE where it is cut off, BODY_TOO_LARGE, and the reason of `gone`
 */
export function readLargeBody(request: IncomingMessage, reading: LargeReading): Promise<Buffer> {
  const { into, begun, memory, open, ticket, gone, onChunk } = reading;
  return new Promise((resolve, reject) => {
    let length = 0;
    let ended = false;
    const resume = () => {
      if (ended) return;
      open.resume(memory.now());
      request.resume();
    };
    const keep = (chunk: Buffer) => {
      if (length + chunk.length > into.length) return finish(new HooklineError('BODY_TOO_LARGE'));
      chunk.copy(into, length);
      length += chunk.length;
    };
    const onData = (chunk: Buffer) => {
      const cost = costOf(request, chunk.length);
      open.bytes += chunk.length;
      keep(chunk);
      if (ended) return;
      onChunk(chunk);
      // Nothing else refers to it. 50 MB of such pieces would be collected with the whole heap.
      releaseBytes(chunk);
      if (memory.throttle.consume(cost, ticket, resume)) return;
      request.pause();
      open.pause(memory.now());
    };
    const onEnd = () => finish(null);
    const onClose = () => finish(new HooklineError('BODY_INCOMPLETE'));
    const onGone = () => finish(reasonOf(gone));
    const finish = (error: HooklineError | null) => {
      if (ended) return;
      ended = true;
      request.off('data', onData).off('end', onEnd).off('close', onClose);
      gone.removeEventListener('abort', onGone);
      if (error) reject(error);
      else resolve(into.subarray(0, length));
    };
    request.on('error', () => {});
    request.on('end', onEnd).on('close', onClose);
    gone.addEventListener('abort', onGone);
    if (gone.aborted) return onGone();
    // Cut off while it waited for memory: its events have passed.
    if (request.destroyed && !request.readableEnded) return finish(new HooklineError('BODY_INCOMPLETE'));
    begun.each((piece) => {
      if (!ended) keep(piece);
    });
    begun.release();
    memory.arriving.release(open);
    if (ended) return;
    request.on('data', onData);
    resume();
  });
}
