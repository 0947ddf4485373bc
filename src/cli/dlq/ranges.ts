import type { DeadLetter, LetterPlace } from '../../delivery/dead-letter/dead-letters.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../delivery/dead-letter/store-dead-letter.ts';
import type { OffsetRange } from '../../kafka/consume/topic-reader.ts';

/** Records between two wanted ones that are read along: fewer cost less than another reading does. */
const GAP = 50n;

/** The readings that fetch these places: in each one range per partition at most. */
export function rangesOf(places: readonly LetterPlace[]): OffsetRange[][] {
  const readings: OffsetRange[][] = [];
  const byPartition = Map.groupBy(places, ({ partition }) => partition);
  for (const [partition, wanted] of byPartition) {
    const offsets = wanted.map(({ offset }) => offset).sort((a, b) => Number(a - b));
    let round = 0;
    let range: { from: bigint; to: bigint } | undefined;
    const close = () => {
      if (!range) return;
      readings[round] ??= [];
      readings[round++]?.push({ partition, ...range });
    };
    for (const offset of offsets) {
      if (range && offset - range.to <= GAP) range.to = offset + 1n;
      else {
        close();
        range = { from: offset, to: offset + 1n };
      }
    }
    close();
  }
  return readings;
}

/** Bytes of bodies that are in memory at a time, and letters under way; one letter may be larger than that. */
const MOST_BYTES = 64 * 1024 * 1024;
const MOST_LETTERS = 500;

/**
 * Letters in portions that memory holds, in the order in which their deliveries were received: events of one entity
 * are redriven in that order.
 */
export function portionsOf(letters: readonly DeadLetter[]): DeadLetter[][] {
  const portions: DeadLetter[][] = [];
  let bytes = 0;
  for (const letter of letters.toSorted((a, b) => receivedAt(a) - receivedAt(b))) {
    const last = portions.at(-1);
    if (last && last.length < MOST_LETTERS && bytes + letter.bytes <= MOST_BYTES) last.push(letter);
    else {
      portions.push([letter]);
      bytes = 0;
    }
    bytes += letter.bytes;
  }
  return portions;
}

const receivedAt = ({ headers, time }: DeadLetter): number => Number(headers[NAMES.receivedAt]) || time;
