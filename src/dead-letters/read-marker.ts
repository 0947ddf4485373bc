import { parsePosition, positionText } from '../core/record.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../delivery/dead-letter/dead-letter-headers.ts';
import type { DeadLetterPosition, DeadLetterRecord } from './dead-letter-record.ts';

/** Positions that are read of a marker; Hookline writes fewer. A header may hold millions. */
const MAX_MARKED = 100;

/** Whether a record says what became of another one. */
export const isMarker = ({ headers }: Pick<DeadLetterRecord, 'headers'>): boolean =>
  headers[NAMES.redriveOf] !== undefined || headers[NAMES.dismissalOf] !== undefined;

/** Positions that a marker names. */
export function positionsIn({ headers }: Pick<DeadLetterRecord, 'headers'>): DeadLetterPosition[] {
  const of = headers[NAMES.redriveOf] ?? headers[NAMES.dismissalOf] ?? '';
  return of.split(',', MAX_MARKED).flatMap((text) => parsePosition(text) ?? []);
}

/**
 * Names of the records that a marker is about: position and key. In a topic that was copied or created anew another record can be at
 * the position.
 */
export const markedBy = (marker: Pick<DeadLetterRecord, 'headers' | 'key'>): string[] =>
  positionsIn(marker).map((position) => markName(positionText(position), marker.key));

/** Names under which markers can be about the record at this position, of a dead-lettered delivery or command with this key. */
export function namesOf(position: DeadLetterPosition, key: string | null): [byAny: string, byKey: string] {
  const at = positionText(position);
  return [markName(at, null), markName(at, key ?? at)];
}

/** The position in the name. */
export const positionOf = (name: string): DeadLetterPosition | null =>
  parsePosition(name.split(' ', 1)[0] ?? '');

/** A marker has the key of its record, or else a position; one without a key, which Hookline does not write, is about any. */
const markName = (at: string, key: string | null): string =>
  key === null ? at : `${at} ${parsePosition(key) ? '' : key}`;
