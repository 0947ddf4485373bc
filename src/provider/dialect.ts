import { parsePointer } from '../core/json.ts';
import { faultsOfAllow } from './extra-fields.ts';
import { placeholdersIn } from './template.ts';

/** A JSON pointer into an answer, read into its steps. */
type Pointer = readonly string[];
type Template = Readonly<Record<string, unknown>>;

/**
 * The one place for what the provider's interface doesn't show of the management operations: the shapes of
 * their requests and answers, and how it spells events.
 */
export type Dialect = {
  readonly create: {
    readonly body: Template;
    readonly response: { readonly id: Pointer; readonly signingSecret: Pointer };
  };
  readonly update: { readonly body: Template };
  readonly list: {
    readonly items: Pointer;
    readonly id: Pointer;
    readonly url: Pointer;
    readonly events: Pointer;
    /** Where an item says by false that nothing is delivered; where it says nothing it is active. */
    readonly active: Pointer;
  };
  readonly replay: { readonly body: Template };
  /** Fields that a command's `extra` may add, and no others: see extra-fields.ts. */
  readonly extra: { readonly allow: readonly string[] };
  /** Our name of an event, and the provider's. */
  readonly eventNames: Readonly<Record<string, string>>;
};

const DEFAULTS = {
  create: {
    body: { url: '{url}', events: '{events}', encryptionKey: '{encryptionKey}' },
    response: { id: '/id', signingSecret: '/signingSecret' },
  },
  update: { body: { url: '{url}', events: '{events}' } },
  list: { items: '', id: '/id', url: '/url', events: '/events', active: '/active' },
  replay: { body: { executionId: '{executionId}' } },
  extra: { allow: [] as string[] },
  eventNames: {
    'payment-status': 'payment_status',
    'accounts-entries': 'accounts-entries',
    'collection-status': 'collection-status',
  },
};

/** What a template may ask for, by operation. */
const PLACEHOLDERS: Readonly<Record<string, readonly string[]>> = {
  create: ['url', 'events', 'encryptionKey', 'ref'],
  update: ['url', 'events', 'encryptionKey', 'ref', 'subscriptionId'],
  replay: ['executionId', 'ref', 'subscriptionId'],
};

/**
 * Reads a dialect file: JSON that overrides the default key by key; a `body` is replaced whole.
 * @throws Error with every fault, each by its key
 */
export function parseDialect(text: string): Dialect {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw new Error('is no JSON.');
  }
  const faults: string[] = [];
  const raw = override(DEFAULTS, given, '', faults);
  const dialect = build(raw, faults);
  if (faults.length > 0) throw new Error(faults.join('; '));
  return dialect;
}

type Raw = typeof DEFAULTS;

/** What the first edition knew, and what there is instead. */
const REPLACED: ReadonlyMap<string, string> = new Map([
  [
    'extra.mayReplace',
    "extra.mayReplace is no longer known: name in extra.allow the fields that a command's extra may add; the address, the events and the key cannot be among them",
  ],
]);

function override<T extends object>(base: T, given: unknown, path: string, faults: string[]): T {
  if (given === undefined) return base;
  if (!isObject(given)) {
    faults.push(`${path || 'the file'} must be an object`);
    return base;
  }
  const open = path === 'eventNames';
  for (const key of Object.keys(given)) {
    if (!open && !Object.hasOwn(base, key))
      faults.push(
        REPLACED.get(join(path, key)) ?? `${join(path, key)} is unknown: use ${Object.keys(base).join(', ')}`,
      );
  }
  // A map: a key such as __proto__ of the file is a key and nothing else.
  const merged = new Map<string, unknown>(Object.entries(base));
  for (const [key, value] of Object.entries(given)) {
    const inner = merged.get(key);
    merged.set(
      key,
      isObject(inner) && key !== 'body' ? override(inner, value, join(path, key), faults) : value,
    );
  }
  return Object.fromEntries(merged) as T;
}

function build(raw: Raw, faults: string[]): Dialect {
  const pointer = (path: string, text: unknown): Pointer => {
    const steps = typeof text === 'string' ? parsePointer(text) : null;
    if (!steps) faults.push(`${path} must be a JSON pointer (RFC 6901), such as /data/id`);
    return steps ?? [];
  };
  const template = (operation: string, body: unknown): Template => {
    if (!isObject(body)) faults.push(`${operation}.body must be an object`);
    const known = PLACEHOLDERS[operation] ?? [];
    for (const name of placeholdersIn(body)) {
      if (!known.includes(name))
        faults.push(`${operation}.body uses {${name}}: known are ${known.join(', ')}`);
    }
    return isObject(body) ? body : {};
  };
  for (const [name, spelling] of Object.entries(raw.eventNames)) {
    if (typeof spelling !== 'string' || spelling === '')
      faults.push(`eventNames.${name} must be a non-empty string`);
  }
  const { allow } = raw.extra;
  const isList = Array.isArray(allow) && allow.every((field) => typeof field === 'string' && field !== '');
  if (!isList) faults.push('extra.allow must be a list of names of fields, such as ["description"]');
  const dialect: Dialect = {
    create: {
      body: template('create', raw.create.body),
      response: {
        id: pointer('create.response.id', raw.create.response.id),
        signingSecret: pointer('create.response.signingSecret', raw.create.response.signingSecret),
      },
    },
    update: { body: template('update', raw.update.body) },
    list: {
      items: pointer('list.items', raw.list.items),
      id: pointer('list.id', raw.list.id),
      url: pointer('list.url', raw.list.url),
      events: pointer('list.events', raw.list.events),
      active: pointer('list.active', raw.list.active),
    },
    replay: { body: template('replay', raw.replay.body) },
    extra: { allow: isList ? allow : [] },
    eventNames: raw.eventNames,
  };
  faults.push(...faultsOfAllow(dialect));
  return dialect;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const join = (path: string, key: string) => (path === '' ? key : `${path}.${key}`);

export const DEFAULT_DIALECT: Dialect = parseDialect('{}');

/**
 * Our name of an event, from either spelling: payment_status and payment-status are one, and so are the provider's own
 * names. Undefined where the dialect has no such event.
 */
export function eventNameOf(dialect: Pick<Dialect, 'eventNames'>, spelling: string): string | undefined {
  const plain = (name: string) => name.toLowerCase().replaceAll('_', '-');
  return Object.entries(dialect.eventNames).find(([ours, theirs]) => {
    return plain(ours) === plain(spelling) || plain(theirs) === plain(spelling);
  })?.[0];
}

/** How the provider spells our event. */
export function providerNameOf(dialect: Pick<Dialect, 'eventNames'>, event: string): string {
  // An event may be one that the provider listed and the dialect doesn't know: it keeps its name.
  const { eventNames } = dialect;
  return (Object.hasOwn(eventNames, event) ? eventNames[event] : undefined) ?? event;
}
