/** A request of Kafka's protocol as a client of Hookline's sends it, and how that client reads the answer. */
export type WireRequest = {
  readonly name: string;
  /** All bytes, their length before them. */
  frame(correlationId: number): Promise<Buffer>;
  /** @param answer behind its length */
  read(answer: Buffer): Promise<object>;
};

/** As clients call themselves: the ids of a group's members begin with it. */
export const CLIENT_ID = 'agreement';
export const CORRELATION_BYTES = 4;
export const TIMEOUT_MS = 20_000;

/** What a reader asks for. */
export type FetchFrom = {
  readonly partition: number;
  readonly offset: number;
  /** How long the broker may wait for a record. */
  readonly maxWaitMs: number;
};
