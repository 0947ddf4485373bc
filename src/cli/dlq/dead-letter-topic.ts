import { OWN_TOPICS, topicName } from '../../core/names.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../delivery/dead-letter/store-dead-letter.ts';
import { checkTopics } from '../../kafka/admin/watch-safety.ts';
import { type OffsetRange, openRanges, type RangeReader } from '../../kafka/consume/topic-follower.ts';
import type { CliKafka } from '../shell/connections.ts';
import { type DeadLetter, DeadLetterIndex, type LetterPlace, placeText } from './dead-letters.ts';

/** The dead-letter topic as an operator looks at it. */
export type Letters = {
  /** Full name of the topic. */
  readonly topic: string;
  /** Every letter that the topic holds now, in the order of their writing. Reads all of it and keeps no body. */
  all(): Promise<DeadLetter[]>;
  /** The original bytes of these letters, by their name; undefined where retention has taken a part meanwhile. */
  bodiesOf(letters: readonly DeadLetter[]): Promise<ReadonlyMap<string, Buffer | undefined>>;
  stop(): Promise<void>;
};

export async function openLetters(kafka: CliKafka, prefix: string): Promise<Letters> {
  const topic = topicName(prefix, OWN_TOPICS.deadLetter);
  await checkTopics(kafka.client, [topic]);
  const reader = await openRanges({
    kafka: kafka.client,
    topic,
    newGroupId: kafka.newGroupId,
    clock: kafka.clock,
  });
  return {
    topic,
    all: () => readAll(reader),
    bodiesOf: (letters) => readBodies(reader, letters),
    stop: () => reader.stop(),
  };
}

async function readAll(reader: RangeReader): Promise<DeadLetter[]> {
  const index = new DeadLetterIndex();
  await reader.read(await reader.span(), ({ partition, offset, timestamp, key, value, headers }) => {
    const bytes = value?.length ?? 0;
    index.take({ partition, offset, timestamp, key: key?.toString() ?? null, bytes, headers });
  });
  return index.letters();
}

async function readBodies(reader: RangeReader, letters: readonly DeadLetter[]) {
  const places = letters.flatMap((letter) => letter.places);
  const wanted = new Set(places.map(placeText));
  const values = new Map<string, Buffer>();
  for (const ranges of rangesOf(places)) {
    await reader.read(ranges, (record) => {
      const place = placeText(record);
      if (wanted.has(place)) values.set(place, record.value ?? Buffer.alloc(0));
    });
  }
  return new Map(letters.map((letter) => [letter.at, join(letter.places, values)]));
}

function join(places: readonly LetterPlace[], values: ReadonlyMap<string, Buffer>): Buffer | undefined {
  const pieces = places.flatMap((place) => values.get(placeText(place)) ?? []);
  if (pieces.length < places.length) return undefined;
  return pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
}

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
