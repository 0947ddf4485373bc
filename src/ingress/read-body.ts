import type { IncomingMessage } from 'node:http';
import { HooklineError } from '../core/errors.ts';

/**
 * Reads a request's body in one piece, showing each chunk to `onChunk` as it arrives.
 * @throws HooklineError BODY_TOO_LARGE as soon as it is larger than `limit`, BODY_INCOMPLETE where it is cut off
 */
export function readBody(
  request: IncomingMessage,
  limit: number,
  onChunk: (chunk: Buffer) => void,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      if (length > limit) return finish(new HooklineError('BODY_TOO_LARGE'));
      chunks.push(chunk);
      onChunk(chunk);
    };
    const onEnd = () => finish(null);
    const onClose = () => finish(new HooklineError('BODY_INCOMPLETE'));
    const finish = (error: HooklineError | null) => {
      request.off('data', onData).off('end', onEnd).off('close', onClose);
      if (error) reject(error);
      else resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length));
    };
    request.on('data', onData).on('end', onEnd).on('close', onClose);
    // What is wrong with the connection shows as its close; an error without a listener would end the process.
    request.on('error', () => {});
  });
}
