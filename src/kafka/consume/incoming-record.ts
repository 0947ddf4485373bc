import type kafkajs from 'kafkajs';
import type { IncomingRecord } from '../../core/record.ts';

export function toIncomingRecord(
  topic: string,
  partition: number,
  message: kafkajs.KafkaMessage,
): IncomingRecord {
  return {
    topic,
    partition,
    offset: BigInt(message.offset),
    key: message.key,
    value: message.value,
    headers: toTexts(message.headers ?? {}),
    timestamp: Number(message.timestamp),
  };
}

/** Headers as texts; of one that came several times, the last counts. */
function toTexts(headers: kafkajs.IHeaders): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const last = Array.isArray(value) ? value.at(-1) : value;
    if (last !== undefined) texts[name] = last.toString();
  }
  return texts;
}
