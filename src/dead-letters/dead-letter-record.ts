/** A record of the dead-letter topic, without its value, which may be large. */
export type DeadLetterRecord = {
  readonly partition: number;
  readonly offset: bigint;
  /** Milliseconds since 1970, when it was written. */
  readonly timestamp: number;
  readonly key: string | null;
  readonly bytes: number;
  readonly headers: Readonly<Record<string, string>>;
};

/** Position of a record in the dead-letter topic. */
export type DeadLetterPosition = Pick<DeadLetterRecord, 'partition' | 'offset'>;

/** The position alone, of a record that has more. */
export const toPosition = ({ partition, offset }: DeadLetterPosition): DeadLetterPosition => ({
  partition,
  offset,
});

/** `partition:offset`: how an operator names a dead-letter record. */
export const positionText = ({ partition, offset }: DeadLetterPosition): string => `${partition}:${offset}`;

/** The position that a text names, or null if it names none. */
export function parsePosition(text: string): DeadLetterPosition | null {
  const match = /^(\d{1,9}):(\d{1,18})$/.exec(text);
  return match ? { partition: Number(match[1]), offset: BigInt(match[2] ?? 0) } : null;
}
