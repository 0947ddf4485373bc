import { headersBytes, type RecordHeaders } from './record-headers.ts';

/** A record as it was read from Kafka. */
export type IncomingRecord = {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** Of a header that came several times, the last one. */
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
};

/** A record to publish. */
export type OutgoingRecord = {
  readonly topic: string;
  readonly key: Buffer;
  /** null deletes the key in a compacted topic. */
  readonly value: Buffer | null;
  readonly headers: RecordHeaders;
  /** Its partition, whatever its key; unset, the key decides. */
  readonly partition?: number;
  /** Milliseconds since 1970; unset means the time of its publishing. */
  readonly timestamp?: bigint;
};

/** An object that a record refers to: it is in the object store before the record is published. */
export type OutgoingObject = {
  /** Its address, such as s3://bucket/prefix/topic/2026/01/31/id.json. */
  readonly uri: string;
  readonly bytes: Buffer;
  /** Of the bytes: 64 lower-case hexadecimal digits. */
  readonly sha256: string;
  readonly contentType: string;
};

/** Where an object is, and how to verify it. */
export type ObjectReference = {
  readonly uri: string;
  readonly bytes: number;
  /** 64 lower-case hexadecimal digits. */
  readonly sha256: string;
};

/** Of a record on the wire. A broker closes the connection at a request above 100 MiB (socket.request.max.bytes). */
export const MAX_MESSAGE_BYTES = 96 * 1024 * 1024;

/** What a record that is alone in its batch weighs on the wire beside its key, value and headers, at the least. */
const RECORD_OVERHEAD = 67;

/** Bytes of a record on the wire, as a topic's max.message.bytes counts them, where it is alone in its batch. */
export function wireBytes({
  key,
  value,
  headers,
}: Pick<OutgoingRecord, 'key' | 'value' | 'headers'>): number {
  return RECORD_OVERHEAD + key.length + (value?.length ?? 0) + headersBytes(headers);
}

/** Where a record is. */
export type Position = { readonly topic: string; readonly partition: number; readonly offset: bigint };

/** `topic[partition]@offset`: how texts name a record. */
export const recordName = ({ topic, partition, offset }: InTopic & { readonly topic: string }): string =>
  `${topic}[${partition}]@${offset}`;

/** `partition:offset`: how texts, options and addresses name a record of a topic that is known. */
export const positionText = ({ partition, offset }: InTopic): string => `${partition}:${offset}`;

type InTopic = { readonly partition: number; readonly offset: bigint | number };

/** The position that a text names, or null if it names none. */
export function parsePosition(text: string): Pick<Position, 'partition' | 'offset'> | null {
  const match = /^(\d{1,9}):(\d{1,18})$/.exec(text);
  return match ? { partition: Number(match[1]), offset: BigInt(match[2] ?? 0) } : null;
}
