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
