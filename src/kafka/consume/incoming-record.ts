import type kafkajs from 'kafkajs';

/** A record as it was read. */
export type IncomingRecord = {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
};

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
