import type { RecordReader } from '../../avro/record-reader.ts';
import { ERRORS, HooklineError } from '../../core/errors.ts';
import type { OutgoingRecord, Position } from '../../core/record.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../delivery/dead-letter/store-dead-letter.ts';
import type { Redelivery } from '../shell/open-redelivery.ts';
import type { DeadLetter } from './dead-letters.ts';
import { missingText, SPOOL_REMEDY } from './describe-dead-letter.ts';
import { redriveDelivery, redriveMarker, redriveMarks } from './redrive-delivery.ts';

/**
 * What became of a letter: `stored` in its topic; `parked` as a dead letter again; `refused`, as it can't be redriven;
 * `failed`, as the brokers did not confirm it: it stays as it was; `waiting`, as the redrive ended before.
 */
export type Outcome = 'stored' | 'parked' | 'refused' | 'failed' | 'waiting';

export type LetterOutcome = {
  readonly letter: DeadLetter;
  readonly outcome: Outcome;
  /** Of the event or command. */
  readonly eventId?: string;
  /** The record it is now, or its topic where nothing was published. */
  readonly to?: string;
  readonly code?: string;
  /** Why, where it is not stored. */
  readonly message?: string;
};

/** Publishes one letter anew, then the marker that says so. A crash between the two repeats the letter, no more. */
export async function redriveLetter(
  letter: DeadLetter,
  body: Buffer | undefined,
  redelivery: Redelivery,
): Promise<LetterOutcome> {
  const { deadLetterTopic, publish } = redelivery.delivery;
  let to: string | undefined;
  try {
    const end = await publishAnew(letter, body, redelivery);
    to = end.to;
    if (to !== undefined) await publish(redriveMarker(letter, to, deadLetterTopic));
    return end;
  } catch (error) {
    const { message } = error as Error;
    const why = to === undefined ? message : `stored as ${to}, but not marked as redriven: ${message}`;
    return {
      letter,
      outcome: 'failed',
      ...(error instanceof HooklineError && { code: error.code }),
      message: why,
    };
  }
}

/** Publishes nothing, and otherwise does what a redrive would do now. */
export function dryRun(redelivery: Redelivery): Redelivery {
  const publish = async (record: OutgoingRecord): Promise<Position> => {
    const bytes = record.key.length + (record.value?.length ?? 0);
    if (bytes > redelivery.delivery.limitOf(record.topic))
      throw new HooklineError('RECORD_TOO_LARGE', undefined, { topic: record.topic });
    return { topic: record.topic, partition: -1, offset: -1n };
  };
  return { ...redelivery, delivery: { ...redelivery.delivery, publish } };
}

async function publishAnew(
  letter: DeadLetter,
  body: Buffer | undefined,
  redelivery: Redelivery,
): Promise<LetterOutcome> {
  const refused = (message: string): LetterOutcome => ({ letter, outcome: 'refused', message });
  if (letter.missing.length > 0) return refused(missingText(letter));
  if (!body) return refused('retention took it meanwhile');
  const { delivery } = redelivery;
  if (letter.headers[NAMES.stage] === 'SPOOL')
    return refused(`${ERRORS.SPOOL_ROW_CHANGED.text}; ${SPOOL_REMEDY}`);
  if (letter.headers[NAMES.stage] === 'COMMAND') {
    const record = await commandRecord(letter, body, {
      ...redelivery,
      deadLetterTopic: delivery.deadLetterTopic,
    });
    if (typeof record === 'string') return refused(record);
    return { letter, outcome: 'stored', to: placeOf(await delivery.publish(record)) };
  }
  const redriven = await redriveDelivery(letter, body, delivery);
  if (!redriven) return refused('its headers do not tell whose delivery it is');
  const { eventId, position, code } = redriven;
  const to = placeOf(position);
  return code === null
    ? { letter, outcome: 'stored', eventId, to }
    : { letter, outcome: 'parked', eventId, to, code };
}

const placeOf = ({ topic, partition, offset }: Position) =>
  partition < 0 ? topic : `${topic}[${partition}]@${offset}`;

type CommandParts = {
  readonly readAvro: RecordReader;
  readonly commandTopics: readonly string[];
  readonly deadLetterTopic: string;
};

/**
 * A command that could not be read then and can be now, as it goes back onto its topic. That is the case where the
 * registry did not have the schema it was written with. Any other is refused, in words: a command that was read as far
 * as its id has its one result already, and JSON does not become readable by waiting.
 */
async function commandRecord(
  letter: DeadLetter,
  value: Buffer,
  parts: CommandParts,
): Promise<OutgoingRecord | string> {
  const { headers, key } = letter;
  const topic = headers[NAMES.topic];
  if (headers[NAMES.commandId] !== undefined) {
    return `command ${headers[NAMES.commandId]} has its result: send a corrected one with a new commandId`;
  }
  if (topic === undefined || !parts.commandTopics.includes(topic)) {
    return `${topic ?? 'it names no topic, which'} is not among COMMAND_TOPICS`;
  }
  // The first byte of Confluent's wire format.
  if (value[0] !== 0) return 'it is no Avro: sent again, it could not be read either';
  try {
    await parts.readAvro(value);
  } catch (error) {
    return `it still can't be read: ${(error as Error).message}`;
  }
  return {
    topic,
    key: Buffer.from(key ?? letter.at),
    value,
    headers: new Map(redriveMarks(letter, parts.deadLetterTopic)),
  };
}
