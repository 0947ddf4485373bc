import { byTime, type Found } from '../../cli/inspect/search-topics.ts';
import { isoOf } from '../../core/instant.ts';

/** A line of a timeline. */
export type StoryLine = {
  /** ISO 8601. */
  readonly time: string;
  readonly step: string;
  readonly what: string;
  /** The record that says so; null of what no record of its own says. */
  readonly at: { readonly topic: string; readonly partition: number; readonly offset: number } | null;
};

/**
 * Makes a timeline of records: when their webhooks were received, and which commands may have caused a repeat.
 * @param found in order
 */
export function tellStory(found: readonly Found[], replays: readonly Found[]): StoryLine[] {
  // Receipts first: what is stored in the same millisecond comes behind them.
  const lines = [...receipts(found), ...found.map(lineOf)];
  const repeats = found.filter(({ step }) => step === 'repeat').map(({ time }) => time);
  const [first] = found;
  for (const replay of replays) {
    const isBetween =
      first !== undefined && replay.time > first.time && repeats.some((time) => time > replay.time);
    if (isBetween)
      lines.push({ ...lineOf(replay), what: `${replay.what}; this event may be among its runs` });
  }
  return lines.sort(byTime);
}

const lineOf = ({ time, step, what, topic, partition, offset }: Found): StoryLine => ({
  time,
  step,
  what,
  at: { topic, partition, offset: Number(offset) },
});

/** One line for each webhook, however many records it became. Where many events are told of, it would say nothing more. */
function receipts(found: readonly Found[]): StoryLine[] {
  const lines = new Map<string, StoryLine>();
  // A marker names none.
  const events = found.map(({ eventId }) => eventId).filter((id) => id !== undefined);
  if (new Set(events).size > 1) return [];
  for (const { eventId, ref, receivedAt } of found) {
    if (eventId === undefined || receivedAt === undefined) continue;
    const time = isoOf(receivedAt);
    lines.set(`${eventId} ${time}`, {
      time,
      step: 'received',
      what: `webhook for ${ref}, id ${eventId}`,
      at: null,
    });
  }
  return [...lines.values()];
}
