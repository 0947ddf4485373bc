/** A sender in a thread of its own: what the test process does between must not look like a slow answer. */
import { parentPort, workerData } from 'node:worker_threads';
import { Sender, type Traffic } from './sender.ts';
import type { Order, Report } from './sender-thread.ts';

const sender = new Sender(workerData as Traffic);
const report = (it: Report) => parentPort?.postMessage(it);

parentPort?.on('message', async (order: Order) => {
  if (order.do === 'progress') {
    const { acked } = sender;
    report({ id: order.id, acked, isRecovered: sender.hasRecoveredSince(order.since) });
  } else {
    const { answers, ...rest } = await sender.stop();
    report({ id: order.id, rows: answers.rows, ...rest });
    parentPort?.close();
  }
});
