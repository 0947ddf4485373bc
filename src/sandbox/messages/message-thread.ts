/** The worker thread that makes large messages: in the main thread, 50 MB of JSON would delay every answer. */
import { parentPort } from 'node:worker_threads';
import { SandboxError } from '../core/errors.ts';
import { type MessageSpec, makeMessage } from './make-message.ts';

export type WorkerRequest = { readonly id: number; readonly spec: MessageSpec; readonly n: number };
export type WorkerAnswer = { readonly id: number } & (
  | { readonly bytes: Uint8Array; readonly type: string | null; readonly entityId: string | null }
  | { readonly refusal: { readonly code: SandboxError['code']; readonly message: string } }
);

parentPort?.on('message', ({ id, spec, n }: WorkerRequest) => {
  try {
    const { bytes, type, entityId } = makeMessage(spec, n);
    // In memory of its own, so that it is transferred and not copied.
    const own = bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
    parentPort?.postMessage({ id, bytes: own, type, entityId } satisfies WorkerAnswer, [
      own.buffer as ArrayBuffer,
    ]);
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    const refusal = { code: error.code, message: error.message };
    parentPort?.postMessage({ id, refusal } satisfies WorkerAnswer);
  }
});
