import type { DeadLetter } from '../../src/dead-letters/dead-letters.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../src/delivery/dead-letter/dead-letter-headers.ts';

type Wanted = {
  at?: string;
  time?: number;
  receivedAt?: number;
  bytes?: number;
  stage?: string;
  code?: string;
  ref?: string;
  eventId?: string;
  missing?: number[];
  redriven?: boolean;
  dismissed?: boolean;
};

/** A dead-letter record as the index makes it. */
export function deadLetter(wanted: Wanted = {}): DeadLetter {
  const { at = '0:0', time = 1_000, missing = [] } = wanted;
  const [partition, offset] = at.split(':');
  const place = { partition: Number(partition), offset: BigInt(offset ?? 0) };
  return {
    at,
    time,
    missing,
    positions: [place],
    copies: [place],
    parts: 1 + missing.length,
    bytes: wanted.bytes ?? 10,
    key: wanted.eventId ?? null,
    object: null,
    headers: {
      [NAMES.stage]: wanted.stage ?? 'DECRYPT',
      [NAMES.code]: wanted.code ?? 'UNDECRYPTABLE',
      [NAMES.ref]: wanted.ref ?? 'ledger-eu',
      [NAMES.eventId]: wanted.eventId ?? 'event',
      ...(wanted.receivedAt !== undefined && { [NAMES.receivedAt]: String(wanted.receivedAt) }),
    },
    redriven: wanted.redriven ? { at: time, to: 'somewhere' } : null,
    dismissed: wanted.dismissed ? { at: time, by: 'ops', reason: 'test data' } : null,
  };
}
