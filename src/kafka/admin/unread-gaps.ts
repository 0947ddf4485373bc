import type kafkajs from 'kafkajs';
import type { ProcessContext } from '../../runtime/process-shell.ts';
import { type Backoff, retry } from '../../runtime/retry.ts';
import type { KafkaClient } from '../connect/kafkajs-client.ts';
import { explainGroupError, isGroupNotReady } from '../consume/group-errors.ts';
import { withAdmin } from './describe-topics.ts';

type Where = { readonly topic: string; readonly partition: number };

/** The offsets from the first to the last one were deleted, and nobody has read them. */
type Deleted = { readonly kind: 'deleted'; readonly from: number; readonly to: number };

/** Offsets up to the last one were deleted. Nothing is committed: whether they were read is not known. */
type Unknown = { readonly kind: 'unknown'; readonly to: number };

/** The partition ends before `from`, which the group would have read next. */
type EndLost = { readonly kind: 'end lost'; readonly from: number; readonly end: number };

/** Where a group cannot go on in a partition with what it has not read. */
export type UnreadGap = Where & (Deleted | Unknown | EndLost);

type Group = { readonly kafka: KafkaClient; readonly groupId: string; readonly topics: readonly string[] };

type Observer = {
  unreadGaps(gaps: readonly UnreadGap[]): void;
  /** They cannot be asked for. */
  unknownGaps(error: Error): void;
};

/** Coordinators move, and of a group without members it may take a moment to find it: 0.1, 0.2, 0.4, 0.8, 1 s, each shortened a bit. */
const ASK_AGAIN: Backoff = { firstMs: 100, factor: 2, maxMs: 1_000 };
const ASKED = 6;

/**
 * Tells of them. Where no broker keeps the group it waits for one, and readiness says so: nobody could join the group either, and behind
 * that it is too late to ask.
 */
export async function tellUnreadGaps(
  group: Group,
  observer: Observer,
  { gate, components }: Pick<ProcessContext, 'gate' | 'components'>,
): Promise<void> {
  const { stopping } = components;
  const unknown = (error: Error) => {
    if (stopping.aborted || isGroupNotReady(error)) throw error;
    observer.unknownGaps(error);
  };
  const tell = () => unreadGaps(group, stopping).then(observer.unreadGaps, unknown);
  await gate.pass('the commands', tell);
}

/**
 * What a group has not read and never will: records that were deleted meanwhile, as by retention while none of its processes ran. Its
 * consumers begin with what is there, and say nothing. To be asked before they join: they commit where they begin.
 */
export async function unreadGaps(group: Group, signal: AbortSignal): Promise<UnreadGap[]> {
  const { kafka, groupId, topics } = group;
  let asked = 0;
  const again = (error: unknown) => (error as { retriable?: boolean }).retriable === true && ++asked < ASKED;
  const ask = async (admin: kafkajs.Admin) => {
    const committed = await admin.fetchOffsets({ groupId, topics: [...topics] });
    const gaps: UnreadGap[] = [];
    for (const { topic, partitions } of committed) {
      const next = new Map(partitions.map(({ partition, offset }) => [partition, Number(offset)]));
      // The brokers tell them in any order.
      const present = (await admin.fetchTopicOffsets(topic)).sort((a, b) => a.partition - b.partition);
      for (const { partition, low, high } of present) {
        const gap = gapOf({ topic, partition }, next.get(partition) ?? -1, [Number(low), Number(high)]);
        if (gap) gaps.push(gap);
      }
    }
    return gaps;
  };
  try {
    return await withAdmin(kafka, (admin) => retry(() => ask(admin), { backoff: ASK_AGAIN, signal, again }));
  } catch (error) {
    throw explainGroupError(error, group);
  }
}

/** @param next what the group would read next; below 0 where nothing is committed */
function gapOf(at: Where, next: number, [first, end]: readonly [number, number]): UnreadGap | null {
  if (next > end) return { ...at, kind: 'end lost', from: next, end };
  // A partition that begins at 0 has lost nothing.
  if (Math.max(next, 0) >= first) return null;
  return next < 0
    ? { ...at, kind: 'unknown', to: first - 1 }
    : { ...at, kind: 'deleted', from: next, to: first - 1 };
}
