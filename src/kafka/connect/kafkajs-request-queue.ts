/**
 * Imported for what it does to kafkajs. After each answer it sets a timer for the requests of that connection that wait
 * because the broker throttles it, also where none wait and none is throttled; the time is then in the past, and the
 * timer sets the next one: one every millisecond for each connection, for ever (kafkajs issues 1704 and 1751, unmended in
 * 2.2.4). An idle ingress took a tenth of a core for nothing else. A request that has to wait sets the timer itself.
 */
import { createRequire } from 'node:module';

type RequestQueue = { readonly pending: readonly unknown[]; scheduleCheckPendingRequests(): void };

const { prototype } = createRequire(import.meta.url)('kafkajs/src/network/requestQueue/index.js') as {
  prototype: RequestQueue;
};
const schedule = prototype.scheduleCheckPendingRequests;
prototype.scheduleCheckPendingRequests = function (this: RequestQueue) {
  if (this.pending.length > 0) schedule.call(this);
};
