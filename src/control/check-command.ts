import { HooklineError } from '../core/errors.ts';
import { eventNameOf } from '../provider/event-names.ts';
import { fieldsClosedToExtra } from '../provider/extra-fields.ts';
import type { OperationContext } from './control-parts.ts';
import { hasBegun, isForgettable } from './subscription-state.ts';

/** Whose body a command's `extra` joins, by its type. */
const BODIES = {
  'subscription.create': 'create',
  'subscription.update': 'update',
  'subscription.adopt': 'update',
  'webhook.replay': 'replay',
} as const;

/**
 * What must hold before a command is carried out, whatever its type.
 * @throws HooklineError COMMAND_EXPIRED, PRECONDITION_FAILED, NOT_OWNER, UNKNOWN_EVENT, EXTRA_CONFLICT
 */
export function checkCommand(context: OperationContext): void {
  const { command, dialect, topic } = context;
  // What has begun is brought to its end: its effect may be at the payment service.
  if (command.expiresAt !== null && command.expiresAt < Date.now() && !hasBegun(context))
    throw new HooklineError('COMMAND_EXPIRED');
  checkMatch(context);
  const owner = ownerOf(context);
  if (owner !== undefined && owner !== topic) throw new HooklineError('NOT_OWNER', `it belongs to ${owner}`);
  for (const event of command.events ?? []) {
    if (eventNameOf(dialect, event) !== undefined) continue;
    const known = Object.keys(dialect.eventNames).join(', ');
    throw new HooklineError('UNKNOWN_EVENT', `${JSON.stringify(event)}; known are ${known}`);
  }
  const body = command.type in BODIES ? BODIES[command.type as keyof typeof BODIES] : null;
  const closed = body === null ? new Set<string>() : fieldsClosedToExtra(dialect, body);
  const taken = Object.keys(command.extra).filter((field) => closed.has(field));
  if (taken.length > 0) throw new HooklineError('EXTRA_CONFLICT', taken.join(', '));
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
