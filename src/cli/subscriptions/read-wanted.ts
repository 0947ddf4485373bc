import type { Node } from 'yaml';
import { isRef, REF_RULE } from '../../core/names.ts';
import { type Dialect, eventNameOf } from '../../provider/dialect.ts';
import { type Field, readYaml, type YamlSource } from './yaml-source.ts';

/** A subscription as a file describes it. */
export type WantedSubscription = {
  readonly ref: string;
  /** Hookline's names of the events, sorted; null: adopt it with the events that it has. */
  readonly events: readonly string[] | null;
  /** The provider already has it: it is adopted instead of created. */
  readonly adopt: boolean;
  readonly extra: Readonly<Record<string, unknown>>;
  /** Its position: file:line:column. */
  readonly at: string;
};

/** The content of a file. */
export type WantedSubscriptions = {
  /** The command topic that owns them; undefined if the file names none. */
  readonly topic: string | undefined;
  readonly subscriptions: readonly WantedSubscription[];
};

type Names = Pick<Dialect, 'eventNames'>;

/**
 * Reads a file of subscriptions: `{ topic?, subscriptions: { ref: { events, adopt?, extra? } } }`.
 * @returns what is wanted, or every fault with its file, line and column
 */
export function readWanted(
  file: string,
  text: string,
  dialect: Names,
): { readonly wanted: WantedSubscriptions } | { readonly faults: readonly string[] } {
  const source = readYaml(file, text);
  // After a syntax error the rest of the file would be a guess.
  if (source.faults.length > 0) return { faults: source.faults };
  const fields = source.fields(source.root, 'the file must be a map', ['topic', 'subscriptions']);
  const of = (name: string) => fields.find((field) => field.name === name);
  const topicField = of('topic');
  const topic =
    topicField && source.text(topicField.value, "topic must be a command topic's full name as a string");
  const listed = of('subscriptions');
  if (!listed && source.faults.length === 0) {
    source.fault(source.root, 'subscriptions is missing: give a map by ref; {} means that there are none');
  }
  const entries = listed ? source.fields(listed.value, 'subscriptions must be a map by ref') : [];
  const subscriptions = entries.map((entry) => readOne(source, entry, dialect));
  return source.faults.length > 0 ? { faults: source.faults } : { wanted: { topic, subscriptions } };
}

function readOne(source: YamlSource, { name: ref, value, at }: Field, dialect: Names): WantedSubscription {
  if (!isRef(ref)) {
    source.faults.push(`${at}: ${JSON.stringify(ref)} is not a ref: ${REF_RULE}`);
  }
  const faultsBefore = source.faults.length;
  const fields = source.fields(value, `${ref} must be a map`, ['events', 'adopt', 'extra']);
  const of = (name: string) => fields.find((field) => field.name === name)?.value;
  const adoptNode = of('adopt');
  const adopt =
    adoptNode === undefined ? false : (source.flag(adoptNode, 'adopt must be true or false') ?? false);
  const eventsNode = of('events');
  const events = eventsNode === undefined ? null : readEvents(source, eventsNode, dialect);
  if (events === null && !adopt && source.faults.length === faultsBefore)
    source.faults.push(`${at}: ${ref} needs events, such as [payment-status]`);
  const extraNode = of('extra');
  if (extraNode !== undefined) source.fields(extraNode, 'extra must be a map');
  const extra = extraNode === undefined ? {} : ((source.plain(extraNode) ?? {}) as Record<string, unknown>);
  return { ref, events, adopt, extra, at };
}

function readEvents(source: YamlSource, node: Node | null, dialect: Names): string[] {
  const known = Object.keys(dialect.eventNames).join(', ');
  const items = source.items(node, 'events must be a list');
  if (items?.length === 0) source.fault(node, `events must have at least one entry: known are ${known}`);
  const names = (items ?? []).flatMap((item) => {
    const spelling = source.text(item, 'an event must be a string');
    if (spelling === undefined) return [];
    const name = eventNameOf(dialect, spelling);
    if (name !== undefined) return [name];
    const more = 'add others to PROVIDER_DIALECT_FILE';
    source.fault(item, `unknown event ${JSON.stringify(spelling)}: known are ${known}; ${more}`);
    return [];
  });
  return [...new Set(names)].sort();
}
