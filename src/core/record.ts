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
  readonly headers: ReadonlyMap<Buffer, Buffer>;
  /** Its partition, whatever its key; unset, the key decides. */
  readonly partition?: number;
  /** Milliseconds since 1970; unset means the time of its publishing. */
  readonly timestamp?: bigint;
};

/** Where a record is. */
export type Position = { readonly topic: string; readonly partition: number; readonly offset: bigint };
