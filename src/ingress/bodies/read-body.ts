import type { IncomingMessage } from 'node:http';
import { HooklineError } from '../../core/errors.ts';

/** What was read of a body: all of it, or its beginning, where it is longer than it may be here. */
export type ReadBody = { readonly whole: Buffer } | { readonly begun: readonly Buffer[] };

/**
 * Reads a request's body in one piece, showing each chunk to `onChunk` as it arrives. What is longer than `limit` is
 * paused and given back as it has begun.
 * @throws HooklineError BODY_INCOMPLETE where it is cut off
 */
export function readBody(
  request: IncomingMessage,
  limit: number,
  onChunk: (chunk: Buffer) => void,
): Promise<ReadBody> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    let isOver = false;
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      chunks.push(chunk);
      if (length <= limit) return onChunk(chunk);
      isOver = true;
      request.pause();
      request.off('data', onData).off('end', onEnd).off('close', onClose);
      resolve({ begun: chunks });
    };
    // A request that has ended has no more events: its listeners go with it, and needn't be taken away.
    const onEnd = () => {
      isOver = true;
      resolve({ whole: chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length) });
    };
    const onClose = () => {
      if (!isOver) reject(new HooklineError('BODY_INCOMPLETE'));
    };
    request.on('data', onData).on('end', onEnd).on('close', onClose);
    // What is wrong with the connection shows as its close; an error without a listener would end the process.
    request.on('error', () => {});
  });
}
