import { isDeepStrictEqual } from 'node:util';
import { takesRef } from '../../config/command-topics.ts';
import type { CommandType, ListedDrift } from '../../core/command.ts';
import { newId } from '../../crypto/ids.ts';
import type { Dialect } from '../../provider/dialect.ts';
import { sendableAgain } from '../../provider/extra-fields.ts';
import {
  acceptedExtra,
  isUnfinished,
  type SubscriptionRecord,
  wantedBy,
} from '../../subscriptions/subscription-record.ts';
import type { WantedSubscription, WantedSubscriptions } from './read-wanted.ts';

/** Replace: the provider no longer has it, and it is created anew. */
export const ACTIONS = ['create', 'adopt', 'update', 'replace', 'delete'] as const;
export type Action = (typeof ACTIONS)[number];

export type Change = {
  readonly ref: string;
  readonly action: Action;
  readonly subscriptionId: string | null;
  readonly eventsBefore: readonly string[];
  /** null: adopt it with the events that it has. */
  readonly eventsAfter: readonly string[] | null;
  /** Extra fields that were last sent, and that are wanted. */
  readonly extraBefore: Readonly<Record<string, unknown>>;
  readonly extra: Readonly<Record<string, unknown>>;
  /** How the provider's subscription differs, if that is known. */
  readonly drift: ListedDrift | null;
  /** Id of the command that changed the ref last. */
  readonly ifMatch: string | null;
  /**
   * Of a replacement: whether it is deleted here first. If the creation is refused, nothing is left then that wants the
   * subscription. It is needed where the provider may have nothing at all, as control takes its list for a fault then; and where
   * control creates nothing anew.
   */
  readonly deletesFirst?: boolean;
};

export type Plan = {
  readonly topic: string;
  readonly changes: readonly Change[];
  /** Refs that need no change. */
  readonly unchanged: readonly string[];
  /** The provider's subscriptions that Hookline did not create: reported, never changed. */
  readonly foreign: readonly ListedDrift[];
  /** Why the plan cannot be applied, each with its position in the file, if it has one. */
  readonly conflicts: readonly string[];
};

/** Refs that are not in the file and would be deleted: nobody deletes them by an oversight. */
export const refsDeleted = ({ changes }: Plan): string[] =>
  changes.filter(({ action }) => action === 'delete').map(({ ref }) => ref);

/** Refs that somebody changed at the provider. */
export const refsDrifted = ({ changes }: Plan): string[] =>
  changes.filter(({ drift }) => drift !== null).map(({ ref }) => ref);

export type Present = {
  readonly records: readonly SubscriptionRecord[];
  /** Differences between the provider and the records; empty with --no-refresh. */
  readonly drift: readonly ListedDrift[];
  /** The provider has listed no subscription of the topic's refs. */
  readonly listsNone: boolean;
  /** It says which extra fields may be sent. */
  readonly dialect: Dialect;
  /** Of the refs that the command topic takes; null or absent where it takes every ref. */
  readonly refPatterns?: readonly string[] | null;
};

/** The provider does not list it any more. */
export const isMissing = ({ errorCode }: ListedDrift): boolean => errorCode === 'SUBSCRIPTION_MISSING';

/**
 * The changes after which a command topic owns exactly the subscriptions of a file. Subscriptions of other topics, and
 * those that Hookline did not create, stay unchanged.
 */
export function planChanges(wanted: WantedSubscriptions, topic: string, present: Present): Plan {
  const records = new Map(present.records.map((record) => [record.ref, record]));
  const { refPatterns = null } = present;
  const drifts = new Map(present.drift.flatMap((one) => (one.ref === null ? [] : [[one.ref, one]])));
  const isOthers = (ref: string) => {
    const record = records.get(ref);
    // Only control knows whether the keys of a deleted subscription are still live.
    return record !== undefined && record.state !== 'RETIRED' && record.owner !== topic;
  };
  const ours = wanted.subscriptions.filter(({ ref }) => !isOthers(ref));
  const changes = ours.flatMap((one) =>
    changeTo(one, records.get(one.ref), drifts.get(one.ref) ?? null, present),
  );
  const named = new Set(wanted.subscriptions.map(({ ref }) => ref));
  const left = present.records.filter(
    ({ ref, owner, state }) => owner === topic && state !== 'RETIRED' && !named.has(ref),
  );
  const changed = new Set(changes.map(({ ref }) => ref));
  // Of what needs no change nothing is sent.
  const notTaken = (ref: string, at: string) =>
    takesRef(refPatterns, ref)
      ? []
      : [`${at}: ${topic} takes no ref ${ref}: COMMAND_TOPICS limits it to ${refPatterns?.join(', ')}`];
  return {
    topic,
    changes: [...changes, ...left.map((record) => deletion(record, drifts.get(record.ref) ?? null))],
    unchanged: ours.map(({ ref }) => ref).filter((ref) => !changed.has(ref)),
    foreign: present.drift.filter(({ ref }) => ref === null),
    conflicts: [
      ...wanted.subscriptions.flatMap(({ ref, at }) => {
        if (isOthers(ref)) return [`${at}: ${ref} belongs to ${records.get(ref)?.owner}`];
        return changed.has(ref) ? notTaken(ref, at) : [];
      }),
      ...left.flatMap(({ ref }) => notTaken(ref, 'to be deleted, as it is not in the file')),
    ],
  };
}

function changeTo(
  { ref, events, adopt, extra }: WantedSubscription,
  record: SubscriptionRecord | undefined,
  drift: ListedDrift | null,
  { dialect, listsNone }: Present,
): Change[] {
  // Extra fields cannot be removed: a file without `extra` leaves them, also where they have to be sent again.
  const again = Object.keys(extra).length > 0 ? extra : sendableAgain(dialect, acceptedExtra(record));
  // An adoption that did not come to its end is asked for again.
  if (record?.state !== 'ACTIVE' || (adopt && isUnfinished(record))) {
    const action = adopt ? 'adopt' : 'create';
    const before = { subscriptionId: null, eventsBefore: [], extraBefore: {}, ifMatch: null };
    // What the provider has lost, and was to be created anew.
    const isAnew = record?.state === 'REQUESTED' && wantedBy(record) !== null && !adopt;
    const sent = isAnew ? { extra: again, drift } : { extra, drift: null };
    return [{ ref, action, ...before, eventsAfter: events, ...sent }];
  }
  const { subscriptionId, commandId: ifMatch } = record;
  const eventsBefore = record.events.toSorted();
  const eventsAfter = events ?? eventsBefore;
  const extraBefore = acceptedExtra(record);
  const repaired = drift === null ? extra : again;
  const change = {
    ref,
    subscriptionId,
    eventsBefore,
    eventsAfter,
    extraBefore,
    extra: repaired,
    drift,
    ifMatch,
  };
  // What was made again by hand is adopted once the ref is free; the others control does not create anew.
  const deletesFirst = listsNone || adopt || isUnfinished(record) || ifMatch === null;
  if (drift && isMissing(drift)) return [{ ...change, action: 'replace', deletesFirst }];
  const isSameExtra = Object.keys(extra).length === 0 || isDeepStrictEqual(extra, extraBefore);
  const isSame = eventsBefore.join() === eventsAfter.join() && isSameExtra;
  return isSame && drift === null ? [] : [{ ...change, action: 'update' }];
}

function deletion(record: SubscriptionRecord, drift: ListedDrift | null): Change {
  const { ref, subscriptionId, commandId: ifMatch, events } = record;
  const extraBefore = acceptedExtra(record);
  const before = { subscriptionId, eventsBefore: events.toSorted(), extraBefore, drift, ifMatch };
  return { ref, action: 'delete', ...before, eventsAfter: [], extra: {} };
}

/** A command of a plan, as it is sent. */
export type PlannedCommand = {
  readonly commandId: string;
  readonly type: CommandType;
  readonly ref: string;
  readonly events?: readonly string[];
  readonly extra?: Readonly<Record<string, unknown>>;
  readonly ifMatch?: string;
};

/**
 * The commands of a change, in order. `ifMatch` names the state that the plan was made from: if somebody else changes the
 * ref in the meantime, the command is rejected instead of undoing that.
 */
export function commandsOf(change: Change): PlannedCommand[] {
  const { ref, eventsAfter, extra, ifMatch } = change;
  const match = ifMatch === null ? {} : { ifMatch };
  const wanted = {
    ...(eventsAfter !== null && eventsAfter.length > 0 && { events: eventsAfter }),
    ...(Object.keys(extra).length > 0 && { extra }),
  };
  const command = (verb: Exclude<Action, 'replace'>, more: object): PlannedCommand => {
    return { commandId: newId(), type: `subscription.${verb}`, ref, ...more };
  };
  switch (change.action) {
    case 'create':
    case 'adopt':
      return [command(change.action, wanted)];
    case 'update':
      return [command('update', { ...wanted, ...match })];
    case 'delete':
      return [command('delete', match)];
    case 'replace': {
      if (!change.deletesFirst) return [command('create', { ...wanted, ...match })];
      const deletion = command('delete', match);
      return [deletion, command('create', { ...wanted, ifMatch: deletion.commandId })];
    }
  }
}
