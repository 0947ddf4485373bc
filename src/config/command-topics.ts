import { OWN_TOPICS, topicName } from '../core/names.ts';
import { type EnvReader, Fault, type Setting, setting } from './env.ts';

/** A topic that commands are read from. */
export type CommandTopic = {
  readonly name: string;
  /** Patterns, of which a ref has to match one; null where the topic takes every ref. */
  readonly refs: readonly string[] | null;
};

const TOPIC = /^[A-Za-z0-9._-]{1,249}$/;

/** What a ref may be made of, and `*` for any number of these characters, none included. */
const PATTERN = /^[a-z0-9*][a-z0-9*-]*$/;

/** A ref has no more. */
const MAX_CHARACTERS = 63;

/** COMMAND_TOPICS: `topic` or `topic=pattern`, separated by commas; a topic with several patterns is listed several times. */
export const commandTopicsSetting = (fallback: string): Setting<readonly CommandTopic[]> =>
  setting(
    'COMMAND_TOPICS',
    {
      about:
        'topics that commands are read from, by full name, one per team; `topic=pattern` limits the refs that a topic takes, as in `payments.commands.ledger=ledger-*`',
      fallback,
    },
    parseCommandTopics,
  );

/** @throws Fault naming the entry */
export function parseCommandTopics(text: string): readonly CommandTopic[] {
  const entries = text.split(',').map((entry) => entry.trim());
  const given = entries.filter((entry) => entry !== '');
  if (given.length === 0 && text !== '')
    throw new Fault(`is ${JSON.stringify(text)}: give one or more topics, separated by commas.`);
  const topics = new Map<string, string[] | null>();
  for (const entry of given) {
    const { name, pattern } = readEntry(entry);
    const before = topics.get(name);
    if (topics.has(name) && (before === null) !== (pattern === null))
      throw new Fault(`names ${name} with a pattern of refs and without one: give one of the two.`);
    topics.set(name, pattern === null ? null : [...new Set([...(before ?? []), pattern])]);
  }
  return Object.freeze([...topics].map(([name, refs]) => ({ name, refs })));
}

/**
 * What Hookline writes itself is read as no command: of the dead-letter topic each record would make another one.
 * @param eventTopics without the prefix
 */
export function checkCommandTopics(
  topics: readonly CommandTopic[] | undefined,
  { prefix, eventTopics }: { prefix: string | undefined; eventTopics: readonly string[] },
  reader: Pick<EnvReader, 'fault'>,
): void {
  if (!topics || prefix === undefined) return;
  for (const { name } of topics)
    if (isWritten(name, prefix, eventTopics))
      reader.fault(`COMMAND_TOPICS names ${name}, which Hookline writes: give another topic.`);
}

/** Whether Hookline writes the topic itself: a command in it would be no command, and break those who read it. */
export function isWritten(name: string, prefix: string, eventTopics: readonly string[]): boolean {
  const { commands: _, ...others } = OWN_TOPICS;
  return [...Object.values(others), ...eventTopics].some((topic) => topicName(prefix, topic) === name);
}

function readEntry(entry: string): { name: string; pattern: string | null } {
  const [, name = '', pattern = null] = /^([^=]*)(?:=(.*))?$/s.exec(entry) ?? [];
  const quoted = JSON.stringify(entry);
  if (!TOPIC.test(name))
    throw new Fault(
      `has the entry ${quoted}, which begins with no topic's name: give topic or topic=pattern.`,
    );
  if (pattern !== null && (!PATTERN.test(pattern) || pattern.replaceAll('*', '').length > MAX_CHARACTERS))
    throw new Fault(
      `has the entry ${quoted}, whose pattern matches no ref: give a-z, 0-9, hyphens and *, such as ${name}=ledger-*.`,
    );
  return { name, pattern };
}

/** The patterns of a topic; null where it takes every ref. */
export const refPatternsOf = (topics: readonly CommandTopic[], name: string): readonly string[] | null =>
  topics.find((topic) => topic.name === name)?.refs ?? null;

export const takesRef = (patterns: readonly string[] | null, ref: string): boolean =>
  patterns?.some((pattern) => matches(pattern, ref)) ?? true;

/**
 * The topic that a command for this ref goes to: the usual one where that takes it, else the only one that does. null where
 * several do, or none.
 */
export function commandTopicFor(
  topics: readonly CommandTopic[],
  { usual, ref }: { readonly usual: string; readonly ref: string | null },
): string | null {
  const taking = ref === null ? topics : topics.filter(({ refs }) => takesRef(refs, ref));
  if (taking.some(({ name }) => name === usual)) return usual;
  return taking.length === 1 ? (taking[0]?.name ?? null) : null;
}

/** In one pass, the first place that fits: a pattern of many stars takes no longer than another. */
function matches(pattern: string, ref: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return ref === first;
  if (!ref.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = ref.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return ref.length - at >= last.length && ref.endsWith(last);
}

/** Pairs of topics whose patterns share refs, as text: each of the two can then own what the other should have. */
export function overlapsOf(topics: readonly CommandTopic[]): string[] {
  const all = topics.flatMap(({ name, refs }) => (refs ?? []).map((pattern) => ({ name, pattern })));
  return all.flatMap((one, n) =>
    all
      .slice(n + 1)
      .filter((other) => other.name !== one.name && overlap(one.pattern, other.pattern))
      .map((other) => `${one.name}=${one.pattern} and ${other.name}=${other.pattern}`),
  );
}

/** Whether a text matches both: how far each pattern can be, after each other's next character. */
function overlap(a: string, b: string): boolean {
  const seen = new Set<string>();
  const from = (i: number, j: number): boolean => {
    if (i === a.length && j === b.length) return true;
    const state = `${i} ${j}`;
    if (seen.has(state)) return false;
    seen.add(state);
    if (a[i] === '*' && (from(i + 1, j) || (j < b.length && from(i, j + 1)))) return true;
    if (b[j] === '*' && (from(i, j + 1) || (i < a.length && from(i + 1, j)))) return true;
    return i < a.length && a[i] === b[j] && from(i + 1, j + 1);
  };
  return from(0, 0);
}

/** COMMAND_TOPICS, by default the one usual topic of this prefix. */
export const commandTopicSetting = (prefix: string) =>
  commandTopicsSetting(topicName(prefix, OWN_TOPICS.commands));
