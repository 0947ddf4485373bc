import type { Dialect } from './dialect.ts';

/**
 * Our name of an event, from either spelling: payment_status and payment-status are one, and so are the service's own
 * names. Undefined where the dialect has no such event.
 */
export function eventNameOf(dialect: Pick<Dialect, 'eventNames'>, spelling: string): string | undefined {
  const plain = (name: string) => name.toLowerCase().replaceAll('_', '-');
  return Object.entries(dialect.eventNames).find(([ours, theirs]) => {
    return plain(ours) === plain(spelling) || plain(theirs) === plain(spelling);
  })?.[0];
}

/** How the service spells our event. */
export function serviceNameOf(dialect: Pick<Dialect, 'eventNames'>, event: string): string {
  // An event may be one that the service listed and the dialect doesn't know: it keeps its name.
  const { eventNames } = dialect;
  return (Object.hasOwn(eventNames, event) ? eventNames[event] : undefined) ?? event;
}
