import { counted } from '../page/parts.ts';
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
      { command: 'hookline dlq list', page: '/dead-letters' },
    );
  else if (open > 0)
    facts.add('look', `${counted(open, 'dead-letter record is', 'dead-letter records are')} open.`, remedy, {
      command: 'hookline dlq list',
      page: '/dead-letters',
    });
  else if (dead > 0)
    facts.add(
      'look',
      `${counted(dead, 'record was', 'records were')} dead-lettered in five minutes.`,
      remedy,
      { command: 'hookline dlq list', page: '/dead-letters' },
    );
  const countedAt = facts.max('hookline_dead_letters_counted_timestamp_seconds');
  if (countedAt > 0 && now / 1_000 - countedAt > COUNTED_SECONDS)
    facts.add(
      'look',
      'Open dead-letter records have not been counted for an hour.',
      'The log of control says why: "open dead-letter records cannot be counted".',
      { command: 'hookline dlq list', page: '/dead-letters' },
    );
}

const days = (seconds: number) => counted(Math.floor(seconds / DAY_SECONDS), 'day', 'days');
