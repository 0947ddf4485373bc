/** What an attacking process does, as it is handed to it. Bytes are base64. */
export type AttackPlan = {
  readonly port: number;
  readonly connections: number;
} & (
  | {
      /** Opens connections, sends `first`, then at most a few bytes a second, and opens each anew when it is closed. */
      readonly kind: 'hold';
      readonly first: string;
      /** 0 sends nothing after `first`. */
      readonly bytesPerSecond: number;
      /** Until it is opened anew; unset means at once. */
      readonly reopenMs?: number;
    }
  | {
      /** Sends the same request again and again, as fast as it is answered. */
      readonly kind: 'flood';
      readonly head: string;
      /** Zero bytes after the head. */
      readonly bodyBytes: number;
    }
  | {
      /** Sends `first` and resets the connection at once, `count` times in all. */
      readonly kind: 'reset';
      readonly first: string;
      readonly count: number;
    }
  | {
      /** Sends `first`, ends its side and waits for the other's end, `count` times in all. */
      readonly kind: 'cut-off';
      readonly first: string;
      readonly count: number;
    }
  | {
      /** Sends the same whole request without end and never reads an answer. */
      readonly kind: 'deaf';
      readonly request: string;
    }
);

/** What the attackers saw. */
export type AttackSeen = {
  readonly opened: number;
  readonly closed: number;
  readonly bytesSent: number;
  /** Answers by status. */
  readonly answers: Readonly<Record<string, number>>;
};
