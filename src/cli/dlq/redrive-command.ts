import type { RecordReader } from '../../avro/record-reader.ts';
import type { DeadLetter } from '../../delivery/dead-letter/dead-letters.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../delivery/dead-letter/store-dead-letter.ts';
import { redriveMarks } from '../../delivery/redrive-delivery.ts';
import type { OutgoingRecord } from '../../kafka/produce/publisher.ts';

export type CommandParts = {
  readonly readAvro: RecordReader;
  readonly commandTopics: readonly string[];
  readonly deadLetterTopic: string;
};

/**
 * A command that could not be read then and can be now, as it goes back onto its topic. That is the case where the
 * registry did not have the schema it was written with. Any other is refused, in words: a command that was read as far
 * as its id has its one result already, and JSON does not become readable by waiting.
 */
export async function commandRecord(
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
