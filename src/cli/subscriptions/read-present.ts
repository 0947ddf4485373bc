import type { ListedDrift } from '../../core/command.ts';
import { newId } from '../../crypto/ids.ts';
import { describeError } from '../shell/shell.ts';
import type { CommandChannel } from './command-channel.ts';
import { isMissing, type Present } from './plan.ts';

/**
 * Makes control compare the provider with the state: the user of this command needs no access to the provider. What it misses
 * counts when a second list does not show it either, as in control's own comparisons: a list in pages can pass over a subscription
 * while others are created and deleted, and what is missing may be deleted before it is created anew.
 */
export async function askProvider(
  channel: Pick<CommandChannel, 'results' | 'send'>,
  topic: string,
  timeoutMs: number,
): Promise<Listed> {
  const first = await askOnce(channel, topic, timeoutMs);
  const missing = new Set(first.drift.filter(isMissing).map(({ subscriptionId }) => subscriptionId));
  if (missing.size === 0) return first;
  const { drift, listsNone } = await askOnce(channel, topic, timeoutMs);
  return { drift: drift.filter((one) => !isMissing(one) || missing.has(one.subscriptionId)), listsNone };
}

type Listed = Pick<Present, 'drift' | 'listsNone'>;

async function askOnce(
  { results, send }: Pick<CommandChannel, 'results' | 'send'>,
  topic: string,
  timeoutMs: number,
): Promise<Listed> {
  const commandId = newId();
  const remedy = '--no-refresh compares the file with the state only';
  const result = results.of(commandId, timeoutMs);
  await send(topic, [{ commandId, type: 'subscription.list' }], timeoutMs);
  const { status, message, drift, subscriptions } = await result.catch((error: unknown) => {
    throw new Error(
      `control did not say which subscriptions the provider has: ${describeError(error)} (${remedy})`,
    );
  });
  if (status !== 'SUCCEEDED')
    throw new Error(`control could not list the provider's subscriptions: ${message} (${remedy})`);
  return {
    drift: (drift ?? []) as readonly ListedDrift[],
    listsNone: ((subscriptions ?? []) as readonly unknown[]).length === 0,
  };
}
