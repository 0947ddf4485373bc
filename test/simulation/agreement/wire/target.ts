/** One end of a connection to a broker. */
export type Line = {
  write(bytes: Buffer): void;
  /** What is not sent yet is not sent. */
  reset(): void;
};

export type LineEvents = { data(bytes: Buffer): void; closed(): void };

/** Brokers that can be talked to: real ones, or the model's. */
export type Target = {
  readonly name: 'Kafka' | 'model';
  /** Resolves with undefined where the broker takes no connection. */
  connect(broker: number, events: LineEvents): Promise<Line | undefined>;
  /** Milliseconds on this target's clock. */
  now(): number;
  /** Lets time pass until it is over, at most so many milliseconds. @returns whether it is over */
  pass(ms: number, isOver?: () => boolean): Promise<boolean>;
};
