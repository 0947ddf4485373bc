import { type OutgoingRecord, positionText } from '../core/record.ts';
import { DEAD_LETTER_HEADERS as NAMES, toHeaders } from '../delivery/dead-letter/dead-letter-headers.ts';
import type { DeadLetterPosition } from './dead-letter-record.ts';
import type { DeadLetter } from './dead-letters.ts';

/** Positions in a marker beside the first one. The last records are the last that retention deletes: until then one of them matches. */
const MAX_MARKER_POSITIONS = 20;

/** The records that mark a dead-letter record as redriven. */
export const redriveMarkers = (
  deadLetter: DeadLetter,
  to: string,
  deadLetterTopic: string,
): OutgoingRecord[] =>
  markers(deadLetter, deadLetterTopic, (names) => ({ [NAMES.redriveOf]: names, [NAMES.redrivenTo]: to }));

/** The records that mark a dead-letter record as dismissed. */
export const dismissalMarkers = (
  deadLetter: DeadLetter,
  { reason, by }: { readonly reason: string; readonly by: string },
  deadLetterTopic: string,
): OutgoingRecord[] =>
  markers(deadLetter, deadLetterTopic, (names) => ({
    [NAMES.dismissalOf]: names,
    [NAMES.dismissedReason]: reason,
    [NAMES.dismissedBy]: by,
  }));

/**
 * One in each partition that has records of it, which nearly always is one: it follows them, so that retention never deletes the marker
 * first. The key, which it shares with them, does not say where they are: partitions may have been added since.
 */
function markers(
  { at, key, copies }: DeadLetter,
  topic: string,
  headersOf: (names: string) => Record<string, string>,
): OutgoingRecord[] {
  const partitions = Map.groupBy(copies, ({ partition }) => partition);
  return [...partitions].map(([partition, own]) => ({
    topic,
    partition,
    value: null,
    key: Buffer.from(key ?? at),
    headers: toHeaders(headersOf(namesOf(own, at))),
  }));
}

/** Of several records it names the first part too, if that is in the partition: where not all are held, that one is. */
function namesOf(own: readonly DeadLetterPosition[], at: string): string {
  const names = own.map(positionText);
  return [...new Set([...names.filter((name) => name === at), ...names.slice(-MAX_MARKER_POSITIONS)])].join(
    ',',
  );
}
