import type { RecordReader } from '../avro/record-reader.ts';
import { isCommandId } from '../core/command.ts';
import { ERRORS, HooklineError } from '../core/errors.ts';
import { type OutgoingRecord, type Position, recordName } from '../core/record.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../delivery/dead-letter/dead-letter-headers.ts';
import { isUnreadNow } from './dead-letter-topic.ts';
import type { DeadLetter } from './dead-letters.ts';
import { missingText, SPOOL_REMEDY } from './describe-dead-letter.ts';
import { FOREIGN, stageOf } from './filter.ts';
import { redriveMarkers } from './markers.ts';
import type { Redelivery } from './open-redelivery.ts';
import { BodyUnopened, redriveDelivery, redriveMarks, WouldBeReadable } from './redrive-delivery.ts';

/**
 * `stored`: in its topic. `dead-lettered`: failed again, and is a new dead-letter record. `refused`: cannot be redriven.
 * `dismissed`: marked so that it is no longer open. `failed`: the brokers did not confirm it, nothing changed. `waiting`:
 * the run ended before its turn.
 */
export type Outcome = 'stored' | 'dead-lettered' | 'refused' | 'dismissed' | 'failed' | 'waiting';

export type DeadLetterOutcome = {
  readonly deadLetter: DeadLetter;
  readonly outcome: Outcome;
  readonly eventId?: string;
  /** The new record; in a dry run its topic. */
  readonly to?: string;
  readonly code?: string;
  /** Why it is not stored. */
  readonly message?: string;
  /** It can be redriven with other settings: those of its order wait for that, or for its dismissal. */
  readonly holdsUp?: true;
};

/**
 * Publishes one dead-letter record again, then its markers. A crash between the two only means that it can be redriven twice.
 * @param onPublished called between the two
 */
export async function redriveOne(
  deadLetter: DeadLetter,
  body: Buffer | Error | undefined,
  redelivery: Redelivery,
  onPublished: () => void = () => {},
): Promise<DeadLetterOutcome> {
  const { deadLetterTopic, publish } = redelivery.delivery;
  let to: string | undefined;
  try {
    const outcome = await publishAgain(deadLetter, body, redelivery);
    to = outcome.to;
    onPublished();
    if (to !== undefined)
      for (const marker of redriveMarkers(deadLetter, to, deadLetterTopic)) await publish(marker);
    return outcome;
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof BodyUnopened) return { deadLetter, outcome: 'refused', code: error.code, message };
    if (error instanceof WouldBeReadable) return { deadLetter, outcome: 'refused', message, holdsUp: true };
    const why = to === undefined ? message : `stored as ${to}, but not marked as redriven: ${message}`;
    return {
      deadLetter,
      outcome: 'failed',
      ...(error instanceof HooklineError && { code: error.code }),
      message: why,
    };
  }
}

/** Publishes nothing, and otherwise does what a redrive would do now. */
export function dryRun(redelivery: Redelivery): Redelivery {
  const send = async (record: OutgoingRecord): Promise<Position> => {
    const bytes = record.key.length + (record.value?.length ?? 0);
    if (bytes > redelivery.delivery.limitOf(record.topic))
      throw new HooklineError('RECORD_TOO_LARGE', undefined, { topic: record.topic });
    return { topic: record.topic, partition: -1, offset: -1n };
  };
  const storing: Redelivery['storing'] = (by) => (record) => by(record);
  return { ...redelivery, send, storing, delivery: { ...redelivery.delivery, publish: storing(send) } };
}

/** Why a dead-letter record can never be redriven, whatever its body is; else null. */
export function refusalOf(deadLetter: DeadLetter): string | null {
  if (deadLetter.missing.length > 0) return missingText(deadLetter);
  const stage = stageOf(deadLetter.headers[NAMES.stage]);
  if (stage === FOREIGN) return 'Hookline did not write it: nothing proves that it was verified';
  if (stage === 'SPOOL') return `${ERRORS.SPOOL_ROW_CHANGED.text}; ${SPOOL_REMEDY}`;
  return null;
}

async function publishAgain(
  deadLetter: DeadLetter,
  body: Buffer | Error | undefined,
  redelivery: Redelivery,
): Promise<DeadLetterOutcome> {
  const refused = (message: string): DeadLetterOutcome => ({ deadLetter, outcome: 'refused', message });
  const refusal = refusalOf(deadLetter);
  if (refusal !== null) return refused(refusal);
  if (isUnreadNow(body)) throw unreadNow(deadLetter, body as Error);
  if (!Buffer.isBuffer(body)) return refused(body?.message ?? 'retention has deleted it');
  const { delivery } = redelivery;
  if (deadLetter.headers[NAMES.stage] === 'COMMAND') {
    const record = await commandRecord(deadLetter, body, {
      ...redelivery,
      deadLetterTopic: delivery.deadLetterTopic,
    });
    if (typeof record === 'string') return refused(record);
    return { deadLetter, outcome: 'stored', to: positionOf(await delivery.publish(record)) };
  }
  const redriven = await redriveDelivery(deadLetter, body, redelivery);
  if (!redriven) return refused('its headers do not identify the delivery');
  const { eventId, position, code } = redriven;
  const to = positionOf(position);
  return code === null
    ? { deadLetter, outcome: 'stored', eventId, to }
    : { deadLetter, outcome: 'dead-lettered', eventId, to, code };
}

/** It ends each run: what can never be read again is for the operator to dismiss. */
function unreadNow({ at }: DeadLetter, error: Error): Error {
  const remedy = `where it can never be read again, dismiss it (hookline dlq dismiss --filter at=${at} --reason WHY)`;
  if (!(error instanceof HooklineError)) return new Error(`${error.message}; ${remedy}`);
  return new HooklineError(error.code, error.detail, { cause: error, remedy: joined(error.remedy, remedy) });
}

const joined = (...texts: readonly (string | undefined)[]): string =>
  texts.filter((text) => text !== undefined).join('; ');

/** A dry run knows only the topic. */
const positionOf = (position: Position) => (position.partition < 0 ? position.topic : recordName(position));

type CommandDeps = {
  readonly readAvro: RecordReader;
  readonly commandTopics: readonly string[];
  readonly deadLetterTopic: string;
};

/**
 * A command as a record of its topic, if it can be read now: the registry did not have its schema then. Otherwise the
 * reason as a text. A command with a known id already has its result, and JSON that could not be parsed never can be.
 */
async function commandRecord(
  deadLetter: DeadLetter,
  value: Buffer,
  deps: CommandDeps,
): Promise<OutgoingRecord | string> {
  const { headers, key } = deadLetter;
  const topic = headers[NAMES.topic];
  if (headers[NAMES.commandId] !== undefined) {
    return `command ${headers[NAMES.commandId]} already has its result: send a corrected command with a new commandId`;
  }
  if (topic === undefined || !deps.commandTopics.includes(topic)) {
    return topic === undefined
      ? 'it names no command topic'
      : `${topic} is not among COMMAND_TOPICS, or does not exist`;
  }
  // The first byte of Confluent's wire format.
  if (value[0] !== 0) return 'it is not Avro, and cannot be read now either';
  try {
    // Control could give it no result, and would dead-letter it again.
    const { commandId } = await deps.readAvro(value);
    if (typeof commandId !== 'string' || !isCommandId(commandId))
      return 'it has no commandId that a result could have: send a corrected command';
  } catch (error) {
    return `it still cannot be read: ${(error as Error).message}`;
  }
  return {
    topic,
    key: Buffer.from(key ?? deadLetter.at),
    value,
    headers: new Map(redriveMarks(deadLetter, deps.deadLetterTopic)),
  };
}
