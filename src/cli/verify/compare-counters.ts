/**
 * The counters of ingress against each other. In one process every acknowledged webhook was confirmed by the brokers as a record
 * before, or is a row of its spool. So since its start `written + spooled - acknowledged` is never negative, and it never
 * shrinks by more than what was in progress. It grows where a record is written and no 200 arrives: by repeats,
 * dead-letter records in parts, and webhooks that were answered 503 and written all the same.
 */

/** What one process has counted since it started, at one scrape. */
export type Counted = {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Webhooks answered 200 (hookline_deliveries_total). */
  readonly acknowledged: number;
  /** Records that the brokers confirmed (hookline_publish_seconds_count). */
  readonly written: number;
  /** Rows of its spool at that time (hookline_spool_deliveries). */
  readonly spooled: number;
};

/** One process from its start to its end, as far as it is in the period. */
export type Life = {
  /** Its address, or pod. */
  readonly process: string;
  /** The first scrape of the period; null where it started within it, so that everything that it counted belongs there. */
  readonly base: Counted | null;
  /** When it started, in milliseconds since 1970, where that is known. */
  readonly startedAt: number | null;
  readonly last: Counted;
};

/** A process's counters over the period. */
export type LifeCounts = {
  readonly process: string;
  readonly since: number;
  readonly until: number;
  readonly acknowledged: number;
  readonly written: number;
  /** By how many the spool's rows have grown. */
  readonly spooled: number;
  /** Acknowledged, and neither written nor in the spool. */
  readonly missing: number;
};

const surplus = ({ acknowledged, written, spooled }: Counted) => written + spooled - acknowledged;

export function countLife({ process, base, startedAt, last }: Life): LifeCounts {
  const from = base ?? { at: startedAt ?? last.at, acknowledged: 0, written: 0, spooled: 0 };
  const acknowledged = last.acknowledged - from.acknowledged;
  return {
    process,
    since: from.at,
    until: last.at,
    acknowledged,
    written: last.written - from.written,
    spooled: last.spooled - from.spooled,
    missing: Math.max(0, -surplus(last), shrunk(from, last, acknowledged)),
  };
}

/**
 * What was in progress at the first scrape was confirmed and not yet answered, at most what one second brings; or it was confirmed
 * and not yet removed from the spool.
 */
function shrunk(from: Counted, last: Counted, acknowledged: number): number {
  const seconds = Math.max(1, (last.at - from.at) / 1_000);
  const inProgress = Math.ceil(acknowledged / seconds) + from.spooled;
  const by = surplus(from) - surplus(last);
  return by > inProgress ? by : 0;
}

/** Of all processes together. */
export type Totals = {
  readonly since: number;
  readonly acknowledged: number;
  readonly written: number;
  readonly missing: number;
  /** Acknowledged, and no longer in a spool: at least so many records must be in the topics. */
  readonly owed: number;
};

export function totalsOf(counts: readonly LifeCounts[]): Totals {
  const sum = (of: (one: LifeCounts) => number) => counts.reduce((total, one) => total + of(one), 0);
  return {
    since: Math.min(...counts.map(({ since }) => since)),
    acknowledged: sum(({ acknowledged }) => acknowledged),
    written: sum(({ written }) => written),
    missing: sum(({ missing }) => missing),
    owed: sum(({ acknowledged, spooled }) => acknowledged - spooled),
  };
}
