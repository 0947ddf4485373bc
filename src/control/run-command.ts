import type { Command, CommandPosition, CommandResult, CommandType } from '../core/command.ts';
import { endsCommand, HooklineError } from '../core/errors.ts';
import type { Lease } from '../core/lease.ts';
import type { IncomingRecord } from '../core/record.ts';
import type { ProviderCall } from '../provider/call-provider.ts';
import { checkCommand } from './check-command.ts';
import { type FinishedCommands, isSamePosition } from './follow-state.ts';
import { adoptSubscription } from './operations/adopt-subscription.ts';
import { createSubscription } from './operations/create-subscription.ts';
import { deleteSubscription } from './operations/delete-subscription.ts';
import { listSubscriptions } from './operations/list-subscriptions.ts';
import type { Operation, OperationDeps, Settled, StateLease } from './operations/operation.ts';
import { type CommandSession, createCommandSession } from './operations/provider-session.ts';
import { replayWebhooks } from './operations/replay-webhooks.ts';
import { updateSubscription } from './operations/update-subscription.ts';
import type { CommandReader } from './read-command.ts';
import { resultOf, resultOfPoison, storeResult } from './result.ts';

export type ControlDeps = OperationDeps & {
  readonly readCommand: CommandReader;
  readonly call: ProviderCall;
  readonly commandDeadlineMs: number;
  readonly finished: FinishedCommands;
  /** Gives the right to write the state, for as long as no other process has claimed it. */
  readonly acquireState: (lease: Lease) => Promise<StateLease>;
  readonly observe: (result: CommandResult) => void;
  /** Gets each error without a row in the error table that has ended a command. */
  readonly unnamed: (error: unknown, commandId: string) => void;
};

/**
 * The whole flow of one command: read, check, execute, store its one terminal result. When this resolves the record may
 * be committed; when it rejects the command comes again, here or elsewhere.
 */
export async function runCommand(record: IncomingRecord, deps: ControlDeps, lease: Lease): Promise<void> {
  const { clock } = deps;
  const receivedAt = clock.wall();
  const position: CommandPosition = {
    topic: record.topic,
    partition: record.partition,
    offset: Number(record.offset),
  };
  const read = await deps.readCommand(record);
  await Promise.all([deps.finished.caughtUp(lease.signal), deps.subscriptions.caughtUp(lease.signal)]);
  const commandId = read.ok ? read.command.commandId : read.commandId;
  const earlier = commandId === null ? undefined : deps.finished.positionOf(commandId);
  // Its result was stored, and the commit was lost.
  if (earlier && isSamePosition(earlier, position)) return;
  if (!read.ok) await deps.records.storeDeadLetter(record, read, lease);
  if (commandId === null) return;
  const result = read.ok
    ? await settle(read.command, { receivedAt, position, isDuplicate: earlier !== undefined }, deps, lease)
    : resultOfPoison(earlier ? { ...read, reason: new HooklineError('COMMAND_DUPLICATE') } : read, {
        commandId,
        receivedAt,
        finishedAt: clock.wall(),
        position,
      });
  deps.observe(await storeResult(result, deps.records, lease));
}

type Circumstances = { receivedAt: number; position: CommandPosition; isDuplicate: boolean };

async function settle(command: Command, circumstances: Circumstances, deps: ControlDeps, lease: Lease) {
  const { call, dialect, commandDeadlineMs: deadlineMs, clock } = deps;
  const session = createCommandSession({ call, dialect, deadlineMs, lease, clock });
  try {
    const end = await carryOut(command, circumstances, session, deps, lease);
    return resultOf(command, end, { ...circumstances, finishedAt: clock.wall(), ...session.made() });
  } finally {
    session.end();
  }
}

/** How the command ended. It rejects for what ends with the process or passes by itself: the command then comes again. */
async function carryOut(
  command: Command,
  { position, isDuplicate }: Circumstances,
  session: CommandSession,
  deps: ControlDeps,
  lease: Lease,
): Promise<Settled | HooklineError> {
  try {
    if (isDuplicate) throw new HooklineError('COMMAND_DUPLICATE');
    const held = await deps.acquireState(lease);
    const context = { ...deps, command, topic: position.topic, session, lease: session.begin(held) };
    checkCommand(context);
    return await OPERATIONS[command.type](context);
  } catch (error) {
    if (endsCommand(error)) return error;
    if (lease.signal.aborted || (error instanceof HooklineError && error.retryable)) throw error;
    if (error instanceof HooklineError) return error;
    // It would be the same the next time, and the commands behind it would wait for ever.
    deps.unnamed(error, command.commandId);
    return new HooklineError('INTERNAL', undefined, { cause: error });
  }
}

/** The operation of each type of command. */
const OPERATIONS: Readonly<Record<CommandType, Operation>> = {
  'subscription.create': createSubscription,
  'subscription.update': updateSubscription,
  'subscription.delete': deleteSubscription,
  'subscription.list': listSubscriptions,
  'subscription.adopt': adoptSubscription,
  'webhook.replay': replayWebhooks,
};
