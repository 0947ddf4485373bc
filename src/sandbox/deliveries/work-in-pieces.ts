import { setImmediate } from 'node:timers/promises';

/** 1 MiB is hashed or sealed in well under a millisecond or two; between pieces others get their turn. */
const PIECE_BYTES = 1 << 20;

/** Hands `bytes` to `work` piece by piece, so that 50 MB don't block the admin API. */
export async function workInPieces(bytes: Buffer, work: (piece: Buffer) => void): Promise<void> {
  for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
    if (start > 0) await setImmediate();
    work(bytes.subarray(start, start + PIECE_BYTES));
  }
}
