import type { Random } from '../random.ts';
import { type ControlKit, PUBLIC_URL } from './control-kit.ts';

export type Sent = {
  readonly commandId: string;
  readonly ref: string;
  readonly type: string;
  /** What a reader must find, given the order of the ref's commands. */
  readonly expected: 'SUCCEEDED' | 'REJECTED';
  readonly events: readonly string[] | undefined;
};

const EVENTS = ['payment-status', 'accounts-entries', 'collection-status'];
const VERBS = ['create', 'update', 'update', 'delete'] as const;

/** Commands over refs in a random order, with the result that each must have and what must be there at the end. */
export function mixCommands({
  random,
  count,
  refs,
  name,
}: {
  random: Random;
  count: number;
  refs: number;
  name: string;
}) {
  const active = new Map<string, readonly string[]>();
  const sent = Array.from({ length: count }, (_, n): Sent => {
    const ref = `${name}-${random.between(1, refs)}`;
    const verb = random.pick(VERBS);
    const isActive = active.has(ref);
    const events = EVENTS.slice(0, random.between(1, EVENTS.length));
    const isRefused = verb === 'create' ? isActive : verb === 'update' ? !isActive : false;
    if (verb === 'delete') active.delete(ref);
    else if (!isRefused) active.set(ref, events);
    return {
      commandId: `${name}-${n}`,
      ref,
      type: `subscription.${verb}`,
      expected: isRefused ? 'REJECTED' : 'SUCCEEDED',
      events: verb === 'delete' ? undefined : events,
    };
  });
  return { sent, active: active as ReadonlyMap<string, readonly string[]> };
}

/** What isn't as it must be: results, the provider and the state, command by command and ref by ref. */
export async function judgeMix(
  kit: ControlKit,
  { sent, active }: ReturnType<typeof mixCommands>,
): Promise<string[]> {
  const wrong: string[] = [];
  for (const { commandId, expected } of sent) {
    const results = kit.results(commandId);
    const told = new Set(
      results.map(({ status, errorCode, subscriptionId }) => `${status} ${errorCode} ${subscriptionId}`),
    );
    if (results[0]?.status !== expected) wrong.push(`${commandId}: ${[...told]} instead of ${expected}`);
    if (told.size > 1) wrong.push(`${commandId} has several results: ${[...told]}`);
  }
  const there = await kit.subscriptions();
  for (const ref of new Set(sent.map((one) => one.ref))) {
    const at = there.filter(({ url }) => url === `${PUBLIC_URL}/webhooks/${ref}`);
    const state = kit.state(ref);
    const events = active.get(ref);
    if (at.length !== (events ? 1 : 0)) wrong.push(`${ref}: ${at.length} subscriptions`);
    const isActive = state?.state === 'ACTIVE';
    if (isActive !== (events !== undefined)) wrong.push(`${ref}: state ${state?.state}`);
    if (isActive && at[0]?.id !== state.subscriptionId)
      wrong.push(`${ref}: the state has another subscription`);
    const plain = (list: unknown) =>
      (list as string[])
        .map((one) => one.replaceAll('_', '-'))
        .sort()
        .join();
    if (isActive && events && plain(state.events) !== plain(events))
      wrong.push(`${ref}: events in the state`);
    if (at[0] && events && plain(at[0].events) !== plain(events)) wrong.push(`${ref}: events there`);
  }
  return wrong;
}

/** Commands of one ref that had their result before one that was sent earlier. */
export function outOfOrder(kit: ControlKit, sent: readonly Sent[]): string[] {
  const last = new Map<string, number>();
  return sent.flatMap(({ commandId, ref }) => {
    const at = kit.results(commandId)[0]?.finishedAt ?? 0;
    const before = last.get(ref) ?? 0;
    last.set(ref, at);
    return at < before ? [commandId] : [];
  });
}
