import type { IncomingMessage } from 'node:http';
import { HooklineError } from '../../core/errors.ts';
import { releaseBytes } from '../../core/release-bytes.ts';
import type { Pacer } from './pacer.ts';

export type LargeReading = {
  /** Most bytes that the body may have: what is taken for it at once, so that it is never copied as a whole. */
  readonly capacity: number;
  /** What was read of it before. */
  readonly begun: readonly Buffer[];
  readonly pacer: Pacer;
  readonly onChunk: (chunk: Buffer) => void;
};

/**
 * Reads a large body into one piece of memory, chunk by chunk, at the pace that leaves others their turns.
 * @throws HooklineError BODY_INCOMPLETE where it is cut off, BODY_TOO_LARGE; its memory is free again then
 */
export function readLargeBody(request: IncomingMessage, reading: LargeReading): Promise<Buffer> {
  const { capacity, begun, pacer, onChunk } = reading;
  return new Promise((resolve, reject) => {
    const body = Buffer.allocUnsafeSlow(capacity);
    let length = 0;
    const goOn = () => void request.resume();
    const keep = (chunk: Buffer) => {
      if (length + chunk.length > capacity) return finish(new HooklineError('BODY_TOO_LARGE'));
      chunk.copy(body, length);
      length += chunk.length;
      onChunk(chunk);
    };
    const onData = (chunk: Buffer) => {
      keep(chunk);
      if (!pacer.take(chunk.length, goOn)) request.pause();
    };
    const onEnd = () => finish(null);
    const onClose = () => finish(new HooklineError('BODY_INCOMPLETE'));
    const finish = (error: HooklineError | null) => {
      request.off('data', onData).off('end', onEnd).off('close', onClose);
      if (!error) return resolve(body.subarray(0, length));
      releaseBytes(body);
      reject(error);
    };
    request.on('error', () => {});
    request.on('end', onEnd).on('close', onClose);
    // Cut off while it waited for room: its events have passed.
    if (request.destroyed && !request.readableEnded) return finish(new HooklineError('BODY_INCOMPLETE'));
    for (const chunk of begun) keep(chunk);
    if (length > 0 && body.buffer.detached) return;
    request.on('data', onData);
    goOn();
  });
}
