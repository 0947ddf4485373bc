/**
 * The counters of ingress against each other. In one process every acknowledged webhook was confirmed by the brokers as a record
 * before, or is a row of its spool. So since its start `written + spooled - acknowledged` is never less than what it found in the
 * spool, and it never shrinks by more than what was in progress. It grows where a record is written and no 200 arrives: by repeats,
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

/** One process from its start to its end, as far as its scrapes are known. */
export type Life = {
  /** Its address, or pod. */
  readonly process: string;
  /** What owns its spool: the same for a process and the one that replaces it. */
  readonly owner: string;
  /** The first scrape of the period; null where it started within it, so that everything that it counted belongs there. */
  readonly base: Counted | null;
  /** When it started, in milliseconds since 1970, where that is known. */
  readonly startedAt: number | null;
  /** The first scrape that is known, which can be before the period. */
  readonly first: Counted;
  readonly last: Counted;
  /** It is scraped no more. */
  readonly hasEnded: boolean;
};

/** A process's counters over the period. */
export type LifeCounts = {
  readonly process: string;
  readonly since: number;
  readonly until: number;
  readonly acknowledged: number;
  readonly written: number;
  /** Rows of its spool at the last scrape. */
  readonly spooled: number;
  /** Acknowledged, and neither written nor in the spool. */
  readonly missing: number;
};

/** Records and rows that no acknowledged webhook of the process explains: at least what it found in the spool. */
export const surplus = ({ acknowledged, written, spooled }: Counted) => written + spooled - acknowledged;

export function countLife(life: Life): LifeCounts {
  const { process, base, startedAt, last } = life;
  const from = base ?? { at: startedAt ?? last.at, acknowledged: 0, written: 0, spooled: 0 };
  const shrunk = shrinkageOf(life);
  return {
    process,
    since: from.at,
    until: last.at,
    acknowledged: last.acknowledged - from.acknowledged,
    written: last.written - from.written,
    spooled: last.spooled,
    missing: Math.max(0, -surplus(last), shrunk.isUnclear ? 0 : shrunk.by),
  };
}

/**
 * By how much the surplus has shrunk since the first scrape of the period, beyond what was in progress: confirmed and not yet answered,
 * at most what one second brings. Where the spool was in use at that scrape it is unclear, up to as many rows: they can have been
 * confirmed and not yet removed, and then count twice there; or they can be lost.
 */
export function shrinkageOf({ base, first, last }: Pick<Life, 'base' | 'first' | 'last'>): {
  readonly by: number;
  readonly isUnclear: boolean;
} {
  const from = base ?? first;
  const seconds = Math.max(1, (last.at - from.at) / 1_000);
  const inProgress = Math.ceil((last.acknowledged - from.acknowledged) / seconds);
  const by = surplus(from) - surplus(last);
  if (by <= inProgress) return { by: 0, isUnclear: false };
  return { by, isUnclear: by <= inProgress + from.spooled };
}

/** Of all processes together. */
export type Totals = {
  readonly since: number;
  readonly acknowledged: number;
  readonly written: number;
  readonly missing: number;
};

export function totalsOf(counts: readonly LifeCounts[]): Totals {
  const sum = (of: (one: LifeCounts) => number) => counts.reduce((total, one) => total + of(one), 0);
  return {
    since: Math.min(...counts.map(({ since }) => since)),
    acknowledged: sum(({ acknowledged }) => acknowledged),
    written: sum(({ written }) => written),
    missing: sum(({ missing }) => missing),
  };
}
