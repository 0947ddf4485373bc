import { DEAD_LETTER_STAGES, UsageError } from '../core/errors.ts';
import { INSTANT_OR_AGE, parseInstantOrAge } from '../core/instant.ts';
import { parsePosition, positionText } from '../core/record.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../delivery/dead-letter/dead-letter-headers.ts';
import type { DeadLetterPosition } from './dead-letter-record.ts';
import { DEAD_LETTER_STATES, type DeadLetter, stateOf } from './dead-letters.ts';

/** Selects the dead-letter records that meet every condition. */
export type DeadLetterFilter = {
  matches(deadLetter: DeadLetter): boolean;
  /** False if no delivery matches whose first part is this record, whatever else the topic holds of it. */
  mayMatch(firstPart: FirstPart): boolean;
  /** Whether there is a condition of this name. */
  names(condition: string): boolean;
  /** All that its conditions `at` name; empty if it has none. */
  readonly positions: readonly DeadLetterPosition[];
};

/** What a delivery or command has of the record that holds its first part. */
export type FirstPart = Pick<DeadLetter, 'headers' | 'time'>;

type Predicate<Of> = (one: Of) => boolean;
type Condition<Of> = (values: readonly string[], now: number) => Predicate<Of>;

export const FILTER_HELP =
  'stage, code, ref, topic, id (event id), at (partition:offset) and state (open, redriven, dismissed, incomplete) take values ' +
  'separated by commas; since and until a time such as 2026-11-21T08:00:00Z or how long ago: 90s, 30m, 2h, 7d';

/** The stage of a record that Hookline did not write. */
export const FOREIGN = 'FOREIGN';

/** The stage that a record's header names, or FOREIGN. */
export const stageOf = (stage: string | undefined): string =>
  DEAD_LETTER_STAGES.find((one) => one === stage) ?? FOREIGN;

/** Conditions that one record decides: what does not meet them need not be held while the topic is read. */
const OF_FIRST_PART: Readonly<Record<string, Condition<FirstPart>>> = {
  stage: (values) => {
    const stages = new Set(known('stage', [...DEAD_LETTER_STAGES, FOREIGN], values));
    return ({ headers }) => stages.has(stageOf(headers[NAMES.stage]));
  },
  code: (values) => ofHeader(NAMES.code, values),
  ref: (values) => ofHeader(NAMES.ref, values),
  topic: (values) => ofHeader(NAMES.topic, values),
  id: (values) => ofHeader(NAMES.eventId, values),
  since: (values, now) => {
    const from = instantOf('since', values, now);
    return ({ time }) => time >= from;
  },
  until: (values, now) => {
    const to = instantOf('until', values, now);
    return ({ time }) => time <= to;
  },
};

/** Conditions that depend on other records too: on copies, missing parts and markers. */
const OF_ALL_RECORDS: Readonly<Record<string, Condition<DeadLetter>>> = {
  at: (values) => {
    const positions = new Set(values.map(positionOf));
    return ({ at, copies }) => positions.has(at) || copies.some((copy) => positions.has(positionText(copy)));
  },
  state: (values) => {
    const states = new Set<string>(known('state', DEAD_LETTER_STATES, values));
    return (deadLetter) => states.has(stateOf(deadLetter));
  },
};

/**
 * Parses conditions of the form name=value.
 * @throws UsageError that says what is accepted
 */
export function parseFilter(conditions: readonly string[] = [], now = Date.now()): DeadLetterFilter {
  const named = conditions.map((text) => {
    const [, name = '', list = ''] = /^([a-z]+)=(.+)$/.exec(text) ?? [];
    const ofFirstPart = OF_FIRST_PART[name];
    const condition = ofFirstPart ?? OF_ALL_RECORDS[name];
    if (!condition) {
      throw new UsageError(`--filter is ${JSON.stringify(text)}: give name=value, where ${FILTER_HELP}.`);
    }
    const values = list.split(',').map((value) => value.trim());
    // Of an empty one nobody knows what it should select.
    if (values.includes(''))
      throw new UsageError(`--filter is ${JSON.stringify(text)}: one of its values is empty; leave it out.`);
    const test: Predicate<DeadLetter> = condition(values, now);
    return { name, values, test, ofFirstPart: ofFirstPart?.(values, now) };
  });
  const at = named.filter(({ name }) => name === 'at').flatMap(({ values }) => values);
  return {
    matches: (deadLetter) => named.every(({ test }) => test(deadLetter)),
    mayMatch: (firstPart) => named.every(({ ofFirstPart }) => ofFirstPart?.(firstPart) ?? true),
    names: (condition) => named.some(({ name }) => name === condition),
    positions: at.flatMap((value) => parsePosition(value) ?? []),
  };
}

function ofHeader(header: string, values: readonly string[]): Predicate<FirstPart> {
  // A list may be as long as a command line, and there are many records to compare with it.
  const wanted = new Set(values);
  return ({ headers }) => {
    const value = headers[header];
    return value !== undefined && wanted.has(value);
  };
}

function known(name: string, all: readonly string[], values: readonly string[]): readonly string[] {
  for (const value of values) {
    if (!all.includes(value))
      throw new UsageError(`--filter ${name}=${value}: unknown ${name}; give ${all.join(', ')}.`);
  }
  return values;
}

function positionOf(text: string): string {
  const position = parsePosition(text);
  if (!position) throw new UsageError(`--filter at=${text}: give partition:offset, such as 2:17.`);
  return positionText(position);
}

/** A time contains no comma: a list of values is refused. */
function instantOf(name: string, values: readonly string[], now: number): number {
  const text = values.join(',');
  const ms = parseInstantOrAge(text, now);
  if (ms === undefined) throw new UsageError(`--filter ${name}=${text}: give ${INSTANT_OR_AGE}.`);
  return ms;
}
