import { SandboxError } from './errors.ts';
import { isObject, type Json } from './json.ts';

/** The events of the interface, section 6.1, by the names that the sandbox uses inside. */
const EVENTS = ['payment-status', 'accounts-entries', 'collection-status'] as const;
export type EventName = (typeof EVENTS)[number];

/** The interface spells one event in two ways: payment_status in subscriptions, payment-status in deliveries. */
const SPELLINGS: Readonly<Record<string, EventName>> = {
  'payment-status': 'payment-status',
  payment_status: 'payment-status',
  'accounts-entries': 'accounts-entries',
  'collection-status': 'collection-status',
};

export const EVENT_SPELLINGS: readonly string[] = Object.keys(SPELLINGS);

export type EventSpelling = Readonly<Record<EventName, string>>;

/** The event of a name, in the interface's spelling or the dialect's; null if it is in neither. */
export function readEventName(name: string, dialect: EventSpelling): EventName | null {
  const own = EVENTS.find((event) => dialect[event] === name);
  return own ?? (Object.hasOwn(SPELLINGS, name) ? (SPELLINGS[name] ?? null) : null);
}

/** A subscription's list of events: at least one, all known; duplicates are removed. */
export function readEventNames(value: Json | undefined, dialect: EventSpelling): EventName[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw new SandboxError('invalid_request', `The events must be a list with at least one of ${known}.`);
  }
  const events = value.map((name) => {
    const event = typeof name === 'string' ? readEventName(name, dialect) : null;
    if (event === null) {
      throw new SandboxError('invalid_request', `${shown(name)} is not an event: use ${known}.`);
    }
    return event;
  });
  return [...new Set(events)];
}

const known = EVENT_SPELLINGS.join(', ');
const shown = (name: Json) =>
  typeof name === 'string' ? JSON.stringify(name.slice(0, 60)) : isObject(name) ? 'An object' : String(name);
