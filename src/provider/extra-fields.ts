import { shortText } from '../core/cut-text.ts';
import { placeholdersIn } from './template.ts';

type Pointer = readonly string[];

/** What of a dialect decides about a command's `extra`. */
type Shapes = {
  readonly create: { readonly body: object; readonly response: { readonly signingSecret: Pointer } };
  readonly update: { readonly body: object };
  readonly list: { readonly url: Pointer; readonly events: Pointer };
  readonly replay: { readonly body: object };
  readonly extra: { readonly allow: readonly string[] };
};
type Fields = Readonly<Record<string, unknown>>;

/** What the sender of a command must not decide, by placeholder. */
const PURPOSES: Readonly<Record<string, string>> = {
  url: 'the address',
  events: 'the events',
  encryptionKey: 'the key',
};
const MAX_LISTED = 5;
const MAX_NAME = 60;
/** Names that are longer are not compared: folding one that is all combining marks takes quadratic time. */
const MAX_FOLDED = 200;
/** Characters of all names of an `extra`: some fold to eighteen, and each step of a path is folded. */
const MAX_NAMES = 16_384;

/**
 * Why a command's `extra` is refused; null where it may be sent. A field is allowed where the dialect's `extra.allow`
 * names it, or where it was `accepted` for the subscription before: a repair sends that again. No member, at any depth,
 * may spell what sets the address, the events or a key.
 */
export function extraConflict(dialect: Shapes, extra: Fields, accepted: Fields = {}): string | null {
  if (lengthOfNames(extra) > MAX_NAMES)
    return `extra has names of more than ${MAX_NAMES} characters together`;
  const { allow } = dialect.extra;
  const guarded = guardedNames(dialect);
  const set = fieldsOfBodies(dialect);
  const conflicts = Object.entries(extra).flatMap(([field, value]) => {
    const inside = guardedMembers({ [field]: value }, guarded, () => 'extra');
    if (inside.length > 0) return inside;
    if (set.has(fold(field))) return [() => `${pathOf('extra', field)} is set by the dialect itself`];
    if (allow.includes(field) || isSame(accepted, field, value)) return [];
    const which = allow.length === 0 ? 'which is empty' : `which names ${allow.join(', ')}`;
    return [() => `${pathOf('extra', field)} is not in the dialect's extra.allow, ${which}`];
  });
  if (conflicts.length === 0) return null;
  const more = conflicts.length > MAX_LISTED ? [`${conflicts.length - MAX_LISTED} more`] : [];
  return [...conflicts.slice(0, MAX_LISTED).map((text) => text()), ...more].join('; ');
}

/** Of what was accepted before, by whatever rule, the fields that may be sent again. */
export function sendableAgain(dialect: Shapes, accepted: Fields): Fields {
  const isSendable = ([field, value]: [string, unknown]) =>
    extraConflict(dialect, { [field]: value }, accepted) === null;
  return Object.fromEntries(Object.entries(accepted).filter(isSendable));
}

/** What is wrong with an `extra.allow`: it may name neither what is guarded nor what a body sets itself. */
export function faultsOfAllow(dialect: Shapes): string[] {
  const guarded = guardedNames(dialect);
  const set = fieldsOfBodies(dialect);
  return dialect.extra.allow.flatMap((field) => {
    const named = `extra.allow names ${JSON.stringify(field)}`;
    const purpose = purposeOf(field, guarded);
    if (purpose !== undefined) return [`${named}, which sets ${purpose}: take it out`];
    return set.has(fold(field)) ? [`${named}, which a body of the dialect sets itself: take it out`] : [];
  });
}

/**
 * A member's name as the loosest reader compares it: without case, accents, width, `_`, `-` and what isn't seen. Go's
 * encoding/json takes the Kelvin sign for a k and the long s for an s; Java's equalsIgnoreCase the dotless i for an i.
 */
export function fold(name: string): string {
  return name
    .normalize('NFKD')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[^\p{L}\p{N}]/gu, '');
}

/** By folded name, what it sets: every name on the way to such a placeholder, and where answers show the same. */
function guardedNames({ create, update, list }: Shapes): ReadonlyMap<string, string> {
  const names = new Map<string, string>([['signingsecret', PURPOSES.encryptionKey ?? '']]);
  const add = (name: string, purpose: string | undefined) => {
    if (purpose !== undefined && fold(name) !== '' && !/^\d+$/.test(name)) names.set(fold(name), purpose);
  };
  const walk = (template: unknown) => {
    if (typeof template !== 'object' || template === null) return;
    for (const [name, inner] of Object.entries(template)) {
      for (const placeholder of placeholdersIn(inner)) add(name, PURPOSES[placeholder]);
      walk(inner);
    }
  };
  walk(create.body);
  walk(update.body);
  add(list.url.at(-1) ?? '', PURPOSES.url);
  add(list.events.at(-1) ?? '', PURPOSES.events);
  add(create.response.signingSecret.at(-1) ?? '', PURPOSES.encryptionKey);
  for (const [name, purpose] of Object.entries(PURPOSES)) add(name, purpose);
  return names;
}

const fieldsOfBodies = ({ create, update, replay }: Shapes): ReadonlySet<string> =>
  new Set([create, update, replay].flatMap(({ body }) => Object.keys(body).map(fold)));

/** Characters of the names that are compared, at any depth. */
function lengthOfNames(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const names = Array.isArray(value) ? [] : Object.keys(value).filter(({ length }) => length <= MAX_FOLDED);
  const inside = Object.values(value).map(lengthOfNames);
  return [...names.map(({ length }) => length), ...inside].reduce((sum, length) => sum + length, 0);
}

/** Where in a value a member spells what is guarded. Texts are made of those that are shown: there may be thousands, deep inside. */
function guardedMembers(
  value: unknown,
  guarded: ReadonlyMap<string, string>,
  path: () => string,
): (() => string)[] {
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value))
    return value.flatMap((inner, n) => guardedMembers(inner, guarded, () => `${path()}[${n}]`));
  return Object.entries(value).flatMap(([name, inner]) => {
    const here = () => pathOf(path(), name);
    if (name.length > MAX_FOLDED) return [() => `${here()} has a name of more than ${MAX_FOLDED} characters`];
    const purpose = purposeOf(name, guarded);
    if (purpose !== undefined) return [() => `${here()} would set ${purpose}`];
    return guardedMembers(inner, guarded, here);
  });
}

/** A name such as `hook.url` or `hook[url]` is a path to readers of forms: each step of it counts. */
function purposeOf(name: string, guarded: ReadonlyMap<string, string>): string | undefined {
  if (name === '__proto__') return 'the prototype of a JavaScript reader';
  const steps = name.split(/[^\p{L}\p{N}\p{M}\p{Cf}\s_-]+/u);
  return [name, ...steps].map((step) => guarded.get(fold(step))).find((purpose) => purpose !== undefined);
}

/** A name comes from the sender: it may be anything, and of any length. */
function pathOf(path: string, name: string): string {
  const short = shortText(name, MAX_NAME);
  return /^[\w-]+$/.test(short) ? `${path}.${short}` : `${path}[${JSON.stringify(short)}]`;
}

const isSame = (accepted: Fields, field: string, value: unknown) =>
  Object.hasOwn(accepted, field) && JSON.stringify(accepted[field]) === JSON.stringify(value);
