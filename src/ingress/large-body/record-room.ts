import { MAX_MESSAGE_BYTES } from '../../core/record.ts';
import type { RecordRoom } from '../../delivery/ports.ts';
import { WORK_FACTOR } from '../body/memory-shares.ts';

/** The least that there is for a record where MAX_BODY_BYTES is small: what is not counted leaves room for it. */
const MIN_RECORD_BYTES = 16 * 1024 * 1024;
/** For the envelope: it does not grow with the body. */
const ENVELOPE_BYTES = 4_096;

/**
 * For a record, half of what the work on a body costs: its plain message and what its lists become are the other half.
 * @param bytes of the body that memory was taken for
 * @param all of those that are worked on at once
 */
export function recordRoom(bytes: number, all: number): RecordRoom {
  // A row of the spool can be larger: MAX_BODY_BYTES was, when it came.
  const most = Math.max(MIN_RECORD_BYTES, (WORK_FACTOR / 2) * Math.max(all, bytes));
  const share = (WORK_FACTOR / 2) * bytes + ENVELOPE_BYTES;
  const isShare = bytes < all && share < Math.min(most, MAX_MESSAGE_BYTES);
  return { bytes: isShare ? share : most, isShare };
}
