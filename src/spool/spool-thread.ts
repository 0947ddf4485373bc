/**
 * The spool's thread, so that the disk blocks only this thread. Requests that arrive meanwhile are executed together.
 */

import { workerData } from 'node:worker_threads';
import { type Call, openCallPort } from '../runtime/worker-calls.ts';
import { SpoolFile } from './spool-file.ts';
import type { SpoolAnswer, SpoolRequest, SpoolState, ThreadOptions } from './spool-row.ts';
import { SpoolWork } from './spool-work.ts';

const port = openCallPort<SpoolRequest, SpoolAnswer, SpoolState>();
const work = new SpoolWork({
  options: workerData as ThreadOptions,
  openFile: (options) => new SpoolFile(options),
  port,
});
let waiting: Call<SpoolRequest>[] = [];

port.onCalls((calls) => {
  if (waiting.length === 0)
    setImmediate(() => {
      const arrived = waiting;
      waiting = [];
      work.execute(arrived);
    });
  waiting.push(...calls);
});
