import { takesRef } from '../config/command-topics.ts';
import { HooklineError } from '../core/errors.ts';
import { eventNameOf } from '../provider/dialect.ts';
import { extraConflict } from '../provider/extra-fields.ts';
import { acceptedExtra } from '../subscriptions/subscription-record.ts';
import type { OperationContext } from './operations/operation.ts';
import { hasBegun, isForgettable } from './operations/subscription-state.ts';

/**
 * What must hold before a command is carried out, whatever its type.
 * @throws HooklineError COMMAND_EXPIRED, NOT_OWNER, PRECONDITION_FAILED, UNKNOWN_EVENT, EXTRA_CONFLICT
 */
export function checkCommand(context: OperationContext): void {
  const { command, dialect } = context;
  // What has begun is brought to its end: its effect may be at the payment service.
  if (command.expiresAt !== null && command.expiresAt < context.clock.wall() && !hasBegun(context))
    throw new HooklineError('COMMAND_EXPIRED');
  // First: whose ref it isn't is told nothing of it.
  checkOwner(context);
  checkMatch(context);
  for (const event of command.events ?? []) {
    if (eventNameOf(dialect, event) !== undefined) continue;
    const known = Object.keys(dialect.eventNames).join(', ');
    throw new HooklineError('UNKNOWN_EVENT', `${JSON.stringify(event)}; known are ${known}`);
  }
  checkExtra(context);
}

function checkOwner(context: OperationContext): void {
  const { command, topic } = context;
  const patterns = context.refPatterns(topic);
  if (command.ref !== '' && !takesRef(patterns, command.ref))
    throw new HooklineError('NOT_OWNER', `${topic} takes refs that match ${patterns?.join(' or ')}`);
  const owner = ownerOf(context);
  if (owner !== undefined && owner !== topic) throw new HooklineError('NOT_OWNER', `it belongs to ${owner}`);
}

/** Of every type: what joins no request is not to be passed over in silence. */
function checkExtra({ command, dialect, subscriptions }: OperationContext): void {
  const before = acceptedExtra(subscriptions.get(command.ref));
  const conflict = extraConflict(dialect, command.extra, before);
  if (conflict === null) return;
  const remedy = "leave it out, or have the operator name the field in the dialect's extra.allow";
  throw new HooklineError('EXTRA_CONFLICT', conflict, { remedy });
}

/** As HTTP's If-Match: whoever decides by what he has seen is not to undo what came since. What is gone is deleted. */
function checkMatch(context: OperationContext): void {
  const { command, subscriptions } = context;
  if (command.ifMatch === null || hasBegun(context)) return;
  const record = subscriptions.get(command.ref);
  if (!record && command.type === 'subscription.delete') return;
  if (record?.commandId !== command.ifMatch)
    throw new HooklineError('PRECONDITION_FAILED', record?.commandId ?? 'it is forgotten');
}

/** Nobody owns a ref whose subscription was deleted so long ago that its keys are no longer live. */
function ownerOf(context: OperationContext): string | undefined {
  const record = context.subscriptions.get(context.command.ref);
  return record && isForgettable(context, record) ? undefined : record?.owner;
}
