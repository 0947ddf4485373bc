import { takesRef } from '../config/command-topics.ts';
import { HooklineError } from '../core/errors.ts';
import { PROBE } from '../core/names.ts';
import { eventNameOf } from '../provider/dialect.ts';
import { extraConflict } from '../provider/extra-fields.ts';
import { acceptedExtra } from '../subscriptions/subscription-record.ts';
import type { OperationContext } from './operations/operation.ts';
import { hasBegun, isReleased } from './operations/subscription-state.ts';

/**
 * Checks what must hold before a command is executed, whatever its type.
 * @throws HooklineError NOT_OWNER, COMMAND_EXPIRED, PRECONDITION_FAILED, UNKNOWN_EVENT, EXTRA_CONFLICT
 */
export function checkCommand(context: OperationContext): void {
  const { command, dialect } = context;
  // First: a team learns nothing about refs of other teams, not even whether there is one: the deletion of none does not expire.
  checkOwner(context);
  if (isExpired(context)) throw new HooklineError('COMMAND_EXPIRED');
  checkMatch(context);
  // An adopted subscription may have others than the dialect knows, and keeps them where it is repaired.
  const had = context.subscriptions.get(command.ref)?.events ?? [];
  for (const event of command.events ?? []) {
    if (eventNameOf(dialect, event) !== undefined || had.includes(event)) continue;
    const known = Object.keys(dialect.eventNames).join(', ');
    throw new HooklineError('UNKNOWN_EVENT', `${JSON.stringify(event)}; known are ${known}`);
  }
  checkExtra(context);
}

/**
 * A command that was begun is finished: the provider may have its effect already. So is the deletion of what the state
 * does not have: there is nothing left to do, and it may have been done by this very command before a crash.
 */
function isExpired(context: OperationContext): boolean {
  const { command, subscriptions } = context;
  if (command.expiresAt === null || command.expiresAt >= context.clock.wall()) return false;
  const isGone = command.type === 'subscription.delete' && subscriptions.get(command.ref) === undefined;
  return !isGone && !hasBegun(context);
}

function checkOwner(context: OperationContext): void {
  const { command, topic } = context;
  if (command.ref === PROBE.ref)
    throw new HooklineError('NOT_OWNER', `${PROBE.ref} belongs to hookline verify`);
  const patterns = context.refPatterns(topic);
  if (command.ref !== '' && !takesRef(patterns, command.ref))
    throw new HooklineError('NOT_OWNER', `${topic} takes refs that match ${patterns?.join(' or ')}`);
  const owner = ownerOf(context);
  if (owner !== undefined && owner !== topic) throw new HooklineError('NOT_OWNER', `it belongs to ${owner}`);
}

/** For every type: a field that no request would carry must not be ignored without a word. */
function checkExtra({ command, dialect, subscriptions }: OperationContext): void {
  const before = acceptedExtra(subscriptions.get(command.ref));
  const conflict = extraConflict(dialect, command.extra, before);
  if (conflict === null) return;
  const remedy = "leave it out, or have the operator name the field in the dialect's extra.allow";
  throw new HooklineError('EXTRA_CONFLICT', conflict, { remedy });
}

/** As HTTP's If-Match: a decision that rests on an older state must not undo a newer one. A deleted ref may be deleted. */
function checkMatch(context: OperationContext): void {
  const { command, subscriptions } = context;
  if (command.ifMatch === null || hasBegun(context)) return;
  const record = subscriptions.get(command.ref);
  if (!record && command.type === 'subscription.delete') return;
  if (!record)
    throw new HooklineError(
      'PRECONDITION_FAILED',
      'the ref has no subscription: none was created, or it is forgotten after its deletion',
    );
  if (record.commandId !== command.ifMatch)
    throw new HooklineError('PRECONDITION_FAILED', record.commandId ?? undefined);
}

/** Nobody owns a ref whose subscription was deleted so long ago that its keys are no longer live. */
function ownerOf(context: OperationContext): string | undefined {
  const record = context.subscriptions.get(context.command.ref);
  return record && isReleased(context, record) ? undefined : record?.owner;
}
