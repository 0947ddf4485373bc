import { canonicalAddress } from '../../core/address.ts';
import type { ListedDrift } from '../../core/command.ts';
import { shortText } from '../../core/cut-text.ts';
import { type ErrorCode, HooklineError } from '../../core/errors.ts';
import { isRef } from '../../core/names.ts';
import { type Dialect, eventNameOf } from '../../provider/dialect.ts';
import type { ListedItem } from '../../provider/provider-api.ts';
import { type SubscriptionRecord, wantedBy } from '../../subscriptions/subscription-record.ts';
import type { OperationDeps } from './operation.ts';
import { mayTakeEffect, receiverUrl } from './subscription-state.ts';

/** A stray one is foreign, and delivers to an address of ours, where no ref can verify it. */
export const DRIFT_KINDS = ['missing', 'changed', 'disabled', 'stray', 'foreign'] as const;
export type DriftKind = (typeof DRIFT_KINDS)[number];

/** One difference between the provider and the state. */
export type Drift = {
  readonly kind: DriftKind;
  readonly subscriptionId: string;
  /** A text that stays the same as long as nothing changes. */
  readonly detail: string;
  /** What the state says; null for a stray or foreign subscription. */
  readonly record: SubscriptionRecord | null;
};

const DRIFT_CODES = {
  missing: 'SUBSCRIPTION_MISSING',
  changed: 'SUBSCRIPTION_CHANGED',
  disabled: 'SUBSCRIPTION_DISABLED',
  stray: 'SUBSCRIPTION_FOREIGN',
  foreign: 'SUBSCRIPTION_FOREIGN',
} as const satisfies Record<DriftKind, ErrorCode>;

/** A drift as records report it. */
export function listedDrift({ kind, subscriptionId, detail, record }: Drift): ListedDrift {
  const errorCode = DRIFT_CODES[kind];
  const { message } = new HooklineError(errorCode, detail);
  return { ref: record?.ref ?? null, subscriptionId, errorCode, message };
}

type Compared = {
  readonly records: readonly SubscriptionRecord[];
  readonly items: readonly ListedItem[];
  readonly dialect: Pick<Dialect, 'eventNames'>;
  readonly publicUrl: string;
  /** How long a command's calls may take. */
  readonly deadlineMs: number;
  readonly now: number;
};

/** Compares what the provider lists with the state. What the list doesn't show of an item is not compared. */
export function findDrift(compared: Compared): Drift[] {
  const { records, items, dialect, publicUrl, now, deadlineMs } = compared;
  const listed = new Map(items.map((item) => [item.id, item]));
  const requested = records.filter(({ state }) => state === 'REQUESTED');
  const addressesOf = (some: typeof records) =>
    new Set(some.map(({ receiverUrl: url }) => canonicalAddress(url)));
  const asked = addressesOf(requested);
  // What our own call has just made. What an older creation has left, which came to no end, is a stray one.
  const made = addressesOf(requested.filter((one) => mayTakeEffect(one, now, deadlineMs)));
  const wanted = records.map(wantedBy).filter((record) => record !== null);
  const ours = wanted.flatMap((record): Drift[] => {
    const subscriptionId = record.subscriptionId ?? '';
    const item = listed.get(subscriptionId);
    listed.delete(subscriptionId);
    // That one was not listed when its creation anew began, and its keys are retired since.
    if (!item || asked.has(canonicalAddress(record.receiverUrl)))
      return [{ kind: 'missing', subscriptionId, detail: record.receiverUrl, record }];
    if (!item.isActive) return [{ kind: 'disabled', subscriptionId, detail: record.receiverUrl, record }];
    const detail = differences(record, item, { dialect, url: receiverUrl({ publicUrl }, record.ref) });
    return detail === '' ? [] : [{ kind: 'changed', subscriptionId, detail: shorten(detail), record }];
  });
  const others = [...listed.values()]
    .filter(({ url }) => url === null || !made.has(url))
    .map(({ id, url }): Drift => {
      return {
        kind: refAt(url, publicUrl) === null ? 'foreign' : 'stray',
        subscriptionId: id.toWellFormed(),
        detail: shorten(url ?? 'no address shown'),
        record: null,
      };
    });
  return [...ours, ...others];
}

/** The ref whose address it is; null where it is none of ours. */
function refAt(url: string | null, publicUrl: string): string | null {
  const ref = url?.split('/').at(-1) ?? '';
  return isRef(ref) && url === receiverUrl({ publicUrl }, ref) ? ref : null;
}

/** A subscription that the ref's files name is verified by them: it is managed elsewhere, and foreign. */
export async function withoutFilesOwn(
  drifts: readonly Drift[],
  { dirSecrets, publicUrl }: Pick<OperationDeps, 'dirSecrets' | 'publicUrl'>,
): Promise<Drift[]> {
  return Promise.all(
    drifts.map(async (drift): Promise<Drift> => {
      const ref = drift.kind === 'stray' ? refAt(drift.detail, publicUrl) : null;
      if (ref === null) return drift;
      const { subscriptionIds } = await dirSecrets(ref).catch(() => ({ subscriptionIds: [] as string[] }));
      return subscriptionIds.includes(drift.subscriptionId) ? { ...drift, kind: 'foreign' } : drift;
    }),
  );
}

const ALL_GONE =
  'if they are really gone, create one under a ref that was never used, so that the list is not empty, and send the command again';

/**
 * An empty list, while the state has active subscriptions, counts as a fault of the provider. If everything is really
 * lost, the operators decide.
 * @throws HooklineError PROVIDER_ANSWER_INVALID
 */
export function refuseEmptyList(items: readonly ListedItem[], records: readonly SubscriptionRecord[]): void {
  const active = records.filter((record) => wantedBy(record) !== null).length;
  if (items.length > 0 || active === 0) return;
  throw new HooklineError(
    'PROVIDER_ANSWER_INVALID',
    `the list of subscriptions is empty, and the state has ${active} active`,
    { remedy: ALL_GONE },
  );
}

function differences(
  record: SubscriptionRecord,
  item: ListedItem,
  { dialect, url }: { dialect: Compared['dialect']; url: string },
): string {
  const found: string[] = [];
  if (item.url !== null && item.url !== url) found.push(`its address is ${item.url} instead of ${url}`);
  const names = (events: readonly string[]) =>
    [...new Set(events.map((event) => eventNameOf(dialect, event) ?? event))].sort().join(', ');
  // The events of an adopted subscription may not be known.
  const wanted = names(record.events);
  const has = item.events && names(item.events);
  if (wanted !== '' && has !== null && has !== wanted)
    found.push(`its events are ${has || 'none'} instead of ${wanted}`);
  return found.join('; ');
}

/** Characters of a text that the provider lists: it may be anything, and must fit a record. */
const MAX_DETAIL = 500;

/** Well-formed, as what is read again of a record is: else it is news at each comparison. */
const shorten = (text: string) => shortText(text, MAX_DETAIL).toWellFormed();
