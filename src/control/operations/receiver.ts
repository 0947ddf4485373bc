import { eventNameOf, serviceNameOf } from '../../provider/dialect.ts';
import type { ControlParts, OperationContext } from './operation.ts';

/** Where the payment service delivers to: derived, never taken from a command, and one per ref. */
export function receiverUrl({ publicUrl }: Pick<ControlParts, 'publicUrl'>, ref: string): string {
  return `${publicUrl}/webhooks/${ref}`;
}

/** The command's events under our names, without repetitions; null where it names none. */
export function eventsOf({
  command,
  dialect,
}: Pick<OperationContext, 'command' | 'dialect'>): string[] | null {
  if (command.events === null) return null;
  return [...new Set(command.events.map((event) => eventNameOf(dialect, event) ?? event))];
}

/** The same events as the service spells them. */
export function serviceEvents(
  { dialect }: Pick<ControlParts, 'dialect'>,
  events: readonly string[] | null,
): string[] | undefined {
  return events?.map((event) => serviceNameOf(dialect, event));
}
