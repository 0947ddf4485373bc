import type { Facts } from './facts.ts';

const DAY_SECONDS = 86_400;
/** They are counted once a minute. */
const COUNTED_SECONDS = 3_600;

/**
 * Dead-letter records that are open, that retention will delete, or that nobody counts.
 * @param now milliseconds since 1970
 */
export function checkDeadLetters(facts: Facts, now: number): void {
  // Where several processes count them, all count the same.
  const open = Math.max(0, ...facts.pods.map(({ samples }) => samples.sum('hookline_dead_letters_open')));
  const dead = facts.grown('hookline_dead_letters_total');
  const remedy = 'Correct their cause, then redrive or dismiss them.';
  const oldest = facts.max('hookline_dead_letters_open_oldest_seconds');
  const retention = facts.max('hookline_dead_letters_retention_seconds');
  if (open > 0 && retention > 0 && oldest > retention - Math.min(retention / 4, 3 * DAY_SECONDS))
    facts.add(
      'act',
      `The oldest open dead-letter record is ${days(oldest)} old, and the brokers delete it after ${days(retention)}.`,
      remedy,
      'hookline dlq list',
    );
  else if (open > 0)
    facts.add(
      'look',
      `${open} dead-letter ${open === 1 ? 'record is' : 'records are'} open.`,
      remedy,
      'hookline dlq list',
    );
  else if (dead > 0)
    facts.add('look', `${dead} records were dead-lettered in five minutes.`, remedy, 'hookline dlq list');
  const counted = facts.max('hookline_dead_letters_counted_timestamp_seconds');
  if (counted > 0 && now / 1_000 - counted > COUNTED_SECONDS)
    facts.add(
      'look',
      'Open dead-letter records have not been counted for an hour.',
      'The log of control says why: "open dead-letter records cannot be counted".',
      'hookline dlq list',
    );
}

const days = (seconds: number) => `${Math.floor(seconds / DAY_SECONDS)} days`;
