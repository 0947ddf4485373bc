import type { Target } from '../wire/target.ts';

/** A batch that was sent: each attempt is named in its record, so that what is stored names its attempt. */
export type Attempt = {
  /** `partition/batch/attempt` */
  readonly id: string;
  readonly partition: number;
  /** Which of the partition's batches. */
  readonly batch: number;
  /** NONE, another code of Kafka's, `closed` or `silent`. */
  readonly outcome: string;
  /** Where the broker said that it is. */
  readonly base: number | undefined;
  readonly situation: string;
};

export type Stored = {
  readonly id: string;
  readonly offset: number;
  /** Of the leader that wrote it. */
  readonly epoch: number;
};

export type Commit = { readonly offset: number; readonly isAcknowledged: boolean };

/** What a plan led to in one of the two targets. */
export type Run = {
  readonly attempts: Attempt[];
  /** What a reader saw meanwhile. */
  readonly read: (Stored & { readonly partition: number })[];
  readonly commits: Commit[];
  /** What was answered, each with its situation. */
  readonly facts: Set<string>;
  /** At the end, by partition. */
  readonly stored: Stored[][];
  committed: number;
};

export const emptyRun = (): Run => ({
  attempts: [],
  read: [],
  commits: [],
  facts: new Set<string>(),
  stored: [],
  committed: -1,
});

/** Where everybody works on one plan. */
export type Scene = {
  readonly target: Target;
  readonly topic: string;
  readonly paceMs: number;
  readonly run: Run;
  acknowledged: number;
  /** Which fault is there, or has been and is not yet over. */
  situation: string;
  /** No fault comes any more. */
  isOver: boolean;
};

export const note = ({ run, situation }: Scene, what: string): void =>
  void run.facts.add(`${situation}: ${what}`);
