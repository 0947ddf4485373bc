import { Worker } from 'node:worker_threads';
import { SandboxError } from '../core/errors.ts';
import { type Message, type MessageSpec, makeMessage } from './make-message.ts';
import type { WorkerAnswer, WorkerRequest } from './message-thread.ts';

export type MessageMaker = ReturnType<typeof createMessageMaker>;

/** A message above either limit is made in the worker thread. */
const MAX_INLINE_BYTES = 1 << 20;
const MAX_INLINE_TRANSACTIONS = 500;

/** Makes small messages in this thread, large ones in a worker thread that starts with the first of them. */
export function createMessageMaker() {
  const waiting = new Map<number, PromiseWithResolvers<Message>>();
  let worker: Worker | null = null;
  let lastId = 0;

  const start = (): Worker => {
    const thread = new Worker(new URL('./message-thread.ts', import.meta.url));
    thread.unref();
    thread.on('message', (answer: WorkerAnswer) => {
      const one = waiting.get(answer.id);
      waiting.delete(answer.id);
      if ('refusal' in answer) one?.reject(new SandboxError(answer.refusal.code, answer.refusal.message));
      else one?.resolve({ ...answer, bytes: bufferOver(answer.bytes) });
    });
    thread.on('error', (error) => abandon(error));
    return thread;
  };
  const abandon = (why: unknown) => {
    worker = null;
    for (const one of waiting.values()) one.reject(why);
    waiting.clear();
  };

  return {
    /** The `n`-th message of a trigger. Rejects with a SandboxError where the spec is impossible. */
    async make(spec: MessageSpec, n: number): Promise<Message> {
      const small = (spec.sizeBytes ?? 0) <= MAX_INLINE_BYTES && spec.transactions <= MAX_INLINE_TRANSACTIONS;
      if (small) return makeMessage(spec, n);
      worker ??= start();
      const made = Promise.withResolvers<Message>();
      lastId += 1;
      waiting.set(lastId, made);
      worker.postMessage({ id: lastId, spec, n } satisfies WorkerRequest);
      return made.promise;
    },
    async stop(): Promise<void> {
      const thread = worker;
      abandon(new Error('the sandbox is stopping'));
      await thread?.terminate();
    },
  };
}

const bufferOver = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
