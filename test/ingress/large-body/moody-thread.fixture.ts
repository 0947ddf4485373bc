/**
 * In the place of the thread for large bodies: does what a body says. `die` ends the thread, `keep` answers not before
 * `go` comes, `fail` fails, `mark` writes into its body, `wide` is too long for a share of the memory; all else is stored.
 */
import type { Job, JobResult, WorkerEvent } from '../../../src/ingress/large-body/worker-messages.ts';
import { type Call, openCallPort } from '../../../src/runtime/worker-calls.ts';

const port = openCallPort<Job, JobResult, WorkerEvent>();
const kept: Call<Job>[] = [];

const end = ({ n, request: job }: Call<Job>, isFailing = false, isTooLong = false) => {
  const observations = { matched: [0], drift: new Map(), deadLettered: [], unclassified: 1 };
  const fault = { code: 'PUBLISH_DEADLINE' as const };
  const eventId = `id-${n}`;
  const result: JobResult = {
    observations,
    ...(job.kind === 'identify' ? { identity: { eventId, order: 'topic key' } } : {}),
    ...(job.kind === 'store' && isFailing ? { fault } : {}),
    ...(isTooLong ? { isTooLong } : {}),
    ...(job.kind === 'store' && !isFailing && !isTooLong
      ? { receipt: { eventId, stored: 'kafka' as const } }
      : {}),
  };
  port.answer([{ n, result }]);
};

const take = (call: Call<Job>) => {
  const { body } = call.request;
  const word = Buffer.from(body).toString('latin1', 0, 4);
  if (word === 'die!') process.exit(1);
  if (word === 'mark') body[0] = 'M'.charCodeAt(0);
  if (word === 'keep') return void kept.push(call);
  end(call, word === 'fail', word === 'wide' && call.request.recordRoom.isShare);
  if (word === 'go!!') for (const one of kept.splice(0)) end(one);
};
port.onCalls((calls) => calls.forEach(take));
