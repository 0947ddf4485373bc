import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** Of latencies in milliseconds, from when each was due. */
export type Percentiles = { readonly p50: number; readonly p99: number; readonly max: number };

/** Of all, and of those whose type is another than the large bodies': they go to partitions of their own. */
export type StreamSeen = Percentiles & {
  readonly sent: number;
  readonly failed: number;
  readonly otherType: Percentiles;
};

/** Begins a steady stream of small webhooks; call what it gives to end it. */
export function startSmallStream(url: URL, perSecond: number): () => Promise<StreamSeen> {
  const thread = new Worker(new URL('./small-stream-thread.ts', import.meta.url), {
    workerData: { url: url.href, perSecond },
  });
  return async () => {
    thread.postMessage('end');
    const [seen] = await once(thread, 'message');
    return seen as StreamSeen;
  };
}
