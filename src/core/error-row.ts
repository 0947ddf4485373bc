import type { ResultStatus } from './command.ts';

/** The step at which a valid webhook went to the dead letters, in the words of Kafka Connect's header. */
export type DeadLetterStage = 'DECRYPT' | 'PARSE' | 'ENCODE' | 'PRODUCE' | 'SPOOL' | 'COMMAND';

/** What is known of a failure by its name. */
export type ErrorRow = {
  /** The HTTP answer, where the failure ends a webhook request. */
  readonly status: number | null;
  /** Whether the same input can succeed later. Not retryable unless the row says so. */
  readonly retryable: boolean;
  /** Where the failure ends among the dead letters: the event is stored there, and the answer is 200. */
  readonly deadLetter?: DeadLetterStage;
  /** The status of a command's result, where the failure ends a command. */
  readonly result?: ResultStatus;
  readonly text: string;
};
