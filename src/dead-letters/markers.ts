import type { OutgoingRecord } from '../core/record.ts';
import { DEAD_LETTER_HEADERS as NAMES, toHeaders } from '../delivery/dead-letter/dead-letter-headers.ts';
import { positionText } from './dead-letter-record.ts';
import type { DeadLetter } from './dead-letters.ts';

/** Positions in a marker beside the first one. The last records are the last that retention deletes: until then one of them matches. */
const MAX_MARKER_POSITIONS = 20;

/** The record that marks a dead-letter record as redriven. */
export const redriveMarker = (deadLetter: DeadLetter, to: string, deadLetterTopic: string): OutgoingRecord =>
  marker(deadLetter, deadLetterTopic, { [NAMES.redriveOf]: namesOf(deadLetter), [NAMES.redrivenTo]: to });

/** The record that marks a dead-letter record as dismissed. */
export const dismissalMarker = (
  deadLetter: DeadLetter,
  { reason, by }: { readonly reason: string; readonly by: string },
  deadLetterTopic: string,
): OutgoingRecord =>
  marker(deadLetter, deadLetterTopic, {
    [NAMES.dismissalOf]: namesOf(deadLetter),
    [NAMES.dismissedReason]: reason,
    [NAMES.dismissedBy]: by,
  });

/** It has the same key, and so follows the dead-letter record in its partition: retention never deletes the marker first. */
const marker = (deadLetter: DeadLetter, topic: string, headers: Record<string, string>): OutgoingRecord => ({
  topic,
  key: Buffer.from(deadLetter.key ?? deadLetter.at),
  value: null,
  headers: toHeaders(headers),
});

const namesOf = ({ at, copies }: DeadLetter): string =>
  [...new Set([at, ...copies.slice(-MAX_MARKER_POSITIONS).map(positionText)])].join(',');
