import type { Command, CommandPlace, CommandType } from '../core/command.ts';
import { HooklineError } from '../core/errors.ts';
import type { Tenure } from '../core/lease.ts';
import type { IncomingRecord } from '../core/record.ts';
import { checkCommand } from './check-command.ts';
import { isSamePlace } from './finished-commands.ts';
import { adoptSubscription } from './operations/adopt-subscription.ts';
import { createSubscription } from './operations/create-subscription.ts';
import { deleteSubscription } from './operations/delete-subscription.ts';
import { listSubscriptions } from './operations/list-subscriptions.ts';
import type { ControlParts, Operation, Settled } from './operations/operation.ts';
import { type CommandSession, createCommandSession } from './operations/provider-session.ts';
import { replayWebhooks } from './operations/replay-webhooks.ts';
import { updateSubscription } from './operations/update-subscription.ts';
import { resultOf, resultOfPoison, storeResult } from './result.ts';

/**
 * The whole way of one command: read, checked, carried out, and its one terminal result stored. When this resolves
 * the record may be committed; when it rejects the command comes again, here or elsewhere.
 */
export async function runCommand(record: IncomingRecord, parts: ControlParts, tenure: Tenure): Promise<void> {
  const receivedAt = Date.now();
  const place: CommandPlace = {
    topic: record.topic,
    partition: record.partition,
    offset: Number(record.offset),
  };
  const read = await parts.readCommand(record);
  await Promise.all([parts.finished.caughtUp(tenure.signal), parts.subscriptions.caughtUp(tenure.signal)]);
  const commandId = read.ok ? read.command.commandId : read.commandId;
  const earlier = commandId === null ? undefined : parts.finished.placeOf(commandId);
  // Its result was stored, and the commit was lost.
  if (earlier && isSamePlace(earlier, place)) return;
  if (!read.ok) await parts.records.storeDeadLetter(record, read, tenure);
  if (commandId === null) return;
  const result = read.ok
    ? await settle(read.command, { receivedAt, place, isDuplicate: earlier !== undefined }, parts, tenure)
    : resultOfPoison(read, { commandId, receivedAt, place });
  parts.observe(await storeResult(result, parts.records, tenure));
}

type Circumstances = { receivedAt: number; place: CommandPlace; isDuplicate: boolean };

async function settle(command: Command, circumstances: Circumstances, parts: ControlParts, tenure: Tenure) {
  const { call, dialect, commandDeadlineMs: deadlineMs } = parts;
  const session = createCommandSession({ call, dialect, deadlineMs, tenure });
  try {
    const end = await carryOut(command, circumstances, session, parts, tenure);
    return resultOf(command, end, { ...circumstances, ...session.made() });
  } finally {
    session.end();
  }
}

/** How the command ended, well or not; what ends with the process or passes by itself rejects: the command comes again. */
async function carryOut(
  command: Command,
  { place, isDuplicate }: Circumstances,
  session: CommandSession,
  parts: ControlParts,
  tenure: Tenure,
): Promise<Settled | HooklineError> {
  try {
    if (isDuplicate) throw new HooklineError('COMMAND_DUPLICATE');
    const held = await parts.holdState(tenure);
    const context = { ...parts, command, topic: place.topic, session, tenure: session.begin(held) };
    checkCommand(context);
    return await OPERATIONS[command.type](context);
  } catch (error) {
    if (error instanceof HooklineError && error.result) return error;
    if (tenure.signal.aborted || (error instanceof HooklineError && error.retryable)) throw error;
    if (error instanceof HooklineError) return error;
    // It would be the same the next time, and the commands behind it would wait for ever.
    parts.unnamed(error, command.commandId);
    return new HooklineError('INTERNAL', undefined, { cause: error });
  }
}

/** What is done for each type of command. */
export const OPERATIONS: Readonly<Record<CommandType, Operation>> = {
  'subscription.create': createSubscription,
  'subscription.update': updateSubscription,
  'subscription.delete': deleteSubscription,
  'subscription.list': listSubscriptions,
  'subscription.adopt': adoptSubscription,
  'webhook.replay': replayWebhooks,
};
