import { DEAD_LETTER_HEADERS as NAMES } from '../delivery/dead-letter/dead-letter-headers.ts';
import type { DeadLetter } from './dead-letters.ts';

/** The order in which their deliveries were received: the spool is drained later than what came after it fails. */
export function inOrderOfReceipt(deadLetters: readonly DeadLetter[]): DeadLetter[] {
  // Made once: of each comparison the headers would be unpacked.
  const times = Float64Array.from(deadLetters, receivedAt);
  const order = deadLetters.map((_, n) => n).sort((a, b) => (times[a] ?? 0) - (times[b] ?? 0));
  return order.map((n) => deadLetters[n] as DeadLetter);
}

const receivedAt = ({ headers, time }: DeadLetter): number => Number(headers[NAMES.receivedAt]) || time;
