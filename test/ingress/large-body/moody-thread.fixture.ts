/**
 * In the place of the thread for large bodies: does what a body says. `die` ends the thread, `keep` answers not before
 * `go` comes, `away` fails, `mark` writes into its body; all else is stored.
 */
import { parentPort } from 'node:worker_threads';
import type { Job, WorkerMessage } from '../../../src/ingress/large-body/lane-messages.ts';

const port = parentPort;
const kept: Job[] = [];

const end = (job: Job, away = false) => {
  const seen = { matched: [0], drift: new Map(), deadLettered: [], unclassified: 1 };
  const fault = { code: 'PUBLISH_DEADLINE' as const, detail: undefined };
  const eventId = `id-${job.n}`;
  const message: WorkerMessage = {
    ...{ kind: 'end', n: job.n, observations: seen },
    ...(job.kind === 'identify' ? { eventId } : {}),
    ...(job.kind === 'store' && away ? { fault } : {}),
    ...(job.kind === 'store' && !away ? { receipt: { eventId, stored: 'kafka' as const } } : {}),
  };
  port?.postMessage(message);
};

port?.on('message', (job: Job) => {
  const word = Buffer.from(job.body).toString('latin1', 0, 4);
  if (word === 'die!') process.exit(1);
  if (word === 'mark') job.body[0] = 'M'.charCodeAt(0);
  if (word === 'keep') return void kept.push(job);
  end(job, word === 'away');
  if (word === 'go!!') for (const one of kept.splice(0)) end(one);
});
