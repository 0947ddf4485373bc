import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** Latencies in milliseconds, from when each webhook was due. */
export type Latencies = { readonly p50: number; readonly p99: number; readonly longest: number };

export type HonestSeen = Latencies & {
  readonly sent: number;
  /** Answers other than 200, and connections that failed, by status or error code. */
  readonly notTaken: Readonly<Record<string, number>>;
};

const STREAMS = ['small', 'large'] as const;
export type StreamName = (typeof STREAMS)[number];

export type HonestOptions = {
  readonly url: string;
  /** PEM file of the authority, for HTTPS. */
  readonly caFile?: string | undefined;
  /** Small webhooks; half of them on new connections, half on kept ones. */
  readonly smallPerSecond: number;
  /** Webhooks of 2 MB, in turn on a new and on a kept connection. */
  readonly largePerSecond: number;
};

export type HonestResult = Readonly<Record<StreamName, HonestSeen>>;

/**
 * Begins honest streams in a thread of their own, at a rate that no answer slows down; call what it gives to end them.
 * Answers that are still owed are waited for.
 */
export function startHonestStream(options: HonestOptions): () => Promise<HonestResult> {
  const thread = new Worker(new URL('./honest-thread.ts', import.meta.url), { workerData: options });
  const failed = once(thread, 'error').then(([error]) => Promise.reject(error));
  failed.catch(() => {});
  return async () => {
    const told = once(thread, 'message');
    thread.postMessage('end');
    const [seen] = await Promise.race([told, failed]);
    await thread.terminate();
    return seen as HonestResult;
  };
}
