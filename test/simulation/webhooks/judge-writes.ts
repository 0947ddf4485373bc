import { type Request, readRequest } from '../kafka/messages.ts';
import { headerOf, readBatch } from '../kafka/record-batch.ts';
import type { Write } from '../net/network.ts';
import type { Attempt } from './host.ts';

const LENGTH_BYTES = 4;
const PRODUCE = 0;

/**
 * What was answered 503 is not written any more: no write to a socket begins after the answer. What is in the spool is, by whichever
 * process drains it.
 */
export function judgeWrites(writes: readonly Write[], attempts: readonly Attempt[]): string[] {
  const byEvent = Map.groupBy(attempts, ({ webhook }) => webhook.eventId);
  const faults = new Set<string>();
  for (const { at, actor, bytes } of writes)
    for (const eventId of eventsIn(bytes)) {
      const own = byEvent.get(eventId) ?? [];
      const mayBe = own.some((attempt) => isOpen(attempt, at) || isSpooled(attempt));
      const given = own.filter(({ incarnation }) => incarnation === actor.name);
      if (mayBe || given.length === 0) continue;
      faults.add(
        `webhook ${given[0]?.webhook.number} is written ${at} although all its requests are answered`,
      );
    }
  return [...faults];
}

const isOpen = ({ arrivedAt, answeredAt }: Attempt, at: number) => arrivedAt <= at && at <= answeredAt;

/** It may be in the spool: it was acknowledged as such, or its process died with it, or the disk failed meanwhile. */
const isSpooled = ({ answer }: Attempt) =>
  answer === undefined ||
  answer === 'reset' ||
  answer.code === 'SPOOL_FAILING' ||
  answer.receipt?.stored === 'spool';

function eventsIn(bytes: Buffer): string[] {
  if (bytes.length < LENGTH_BYTES + 2 || bytes.readInt16BE(LENGTH_BYTES) !== PRODUCE) return [];
  const request: Request = readRequest(bytes.subarray(LENGTH_BYTES));
  if (request.kind !== 'produce') return [];
  return request.batches.flatMap(({ batch }) =>
    readBatch(batch).map((record) => headerOf(record, 'ce_id')?.toString('latin1') ?? ''),
  );
}
