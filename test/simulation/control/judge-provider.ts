import {
  openSecrets,
  type SubscriptionRecord,
  wantedBy,
} from '../../../src/subscriptions/subscription-record.ts';
import { START } from '../engine/simulation.ts';
import type { Effect, Subscription } from '../provider/model-provider.ts';
import { reportedDrift, type StoredResult } from './ledger.ts';
import { SEALING_KEYS } from './parts.ts';
import { type ControlSite, PUBLIC_URL } from './site.ts';

type State = ReadonlyMap<string, SubscriptionRecord>;

/**
 * The provider has what the state says, and what is ACTIVE can be verified. They may differ where the provider did something
 * for which nobody waited any more; then the difference is reported, if that is wanted.
 * @param about.hasTrueTimes false where the clocks of processes jump
 */
export function judgeProvider(
  site: ControlSite,
  about: { results: readonly StoredResult[]; state: State; hasTrueTimes: boolean },
): string[] {
  const { results, state, hasTrueTimes } = about;
  const reported = reportedDrift(results);
  const unrepaired = unrepairedIn(site, state);
  const different = differences(site, state).flatMap(({ id, url, what }) => {
    if (unrepaired.includes(what)) return [];
    const since = hasTrueTimes ? clearedAt(results, url) : 0;
    if (!mayDiffer(site, url, since) && !isUnfinished(state, id) && !isUnsure(site, results, { id, url }))
      return [what];
    // An empty list while the state has active ones is taken for a wrong dialect: an error says so, and no record of drift.
    const isDoubted = site.provider.subscriptions.size === 0;
    const isTold = site.system.reconcile === 'off' || reported.has(id) || isDoubted;
    return isTold ? [] : [`${what}, and nothing reports it`];
  });
  return [...unrepaired.map((what) => `${what}, and it is not repaired`), ...different];
}

/** What `RECONCILE=repair` has to repair: each ref has what its record says. */
export function unrepairedIn(site: ControlSite, state: State): string[] {
  // An empty list is taken for a wrong dialect.
  if (site.system.reconcile !== 'repair' || site.provider.subscriptions.size === 0) return [];
  const found = differences(site, state);
  // A foreign one at the address is not touched.
  const taken = new Set(found.filter(({ ref }) => ref === undefined).map(({ url }) => url));
  const different = found
    .filter(
      ({ id, ref, url }) =>
        ref !== undefined && !taken.has(url) && !site.foreign.has(ref) && !isUnfinished(state, id),
    )
    .map(({ what }) => what);
  const requested = [...state.values()].filter((record) => record.state === 'REQUESTED' && wantedBy(record));
  return [...different, ...requested.map(({ ref }) => `${ref}: it is not created anew`)];
}

type Difference = { readonly id: string; readonly url: string; readonly what: string; readonly ref?: string };

function differences({ provider, foreign, system }: ControlSite, state: State): Difference[] {
  const found: Difference[] = [];
  const left = new Map(provider.subscriptions);
  for (const [ref, record] of state) {
    const url = `${PUBLIC_URL}/webhooks/${ref}`;
    const id = record.subscriptionId ?? '';
    if (record.state !== 'ACTIVE') continue;
    const item = left.get(id);
    left.delete(id);
    const fault = item ? faultOf(item, record, url) : 'is not at the provider';
    if (fault) found.push({ ref, id, url, what: `${ref}: ${id} ${fault}` });
    const inDir = foreign.get(ref);
    const sealed = record.sealedKeys && openSecrets(SEALING_KEYS, record, record.sealedKeys);
    // Files come first, also those of another; a subscription that was there before them may be shut out.
    const madeAt = provider.effects.find((one) => one.what === 'creates' && one.subscription?.id === id)?.at;
    const isByFile = inDir && (inDir.id === id || Number(madeAt) > inDir.knownAt + system.deadlineMs);
    const signingSecret = isByFile ? inDir.signingSecret : sealed?.signingSecret;
    if (signingSecret === undefined || signingSecret !== provider.secrets.get(id))
      found.push({ id: '', url: '', what: `${ref}: its webhooks cannot be verified` });
  }
  // Where an intent stays, what stands at its address is expected.
  const asked = new Set(
    [...state.values()].filter((one) => one.state === 'REQUESTED').map((one) => one.receiverUrl),
  );
  const elsewhere = new Set([...foreign.values()].map((one) => one.url));
  for (const { id, url } of left.values())
    if (!asked.has(url) && !elsewhere.has(url))
      found.push({ id, url, what: `the provider has ${id} for ${url}, and the state has not` });
  return found;
}

function faultOf(item: Subscription, record: SubscriptionRecord, url: string): string | undefined {
  const names = (events: readonly string[]) =>
    events
      .map((name) => name.replaceAll('_', '-'))
      .sort()
      .join(', ');
  if (item.url !== url) return `has the address ${item.url}`;
  const has = names(item.events);
  const wanted = names(record.events);
  return wanted !== '' && has !== wanted ? `has the events ${has} instead of ${wanted}` : undefined;
}

/** Whether an adoption has come to no end: its subscription may be elsewhere. */
const isUnfinished = (state: State, id: string) =>
  [...state.values()].some((record) => record.subscriptionId === id && record.replaced != null);

const CHANGES = new Set<string>(['subscription.update', 'subscription.delete', 'subscription.adopt']);

/** Whether a change that was asked for has FAILED: the provider may have made it all the same. */
function isUnsure(
  { begun }: ControlSite,
  results: readonly StoredResult[],
  { id, url }: Pick<Difference, 'id' | 'url'>,
): boolean {
  const hasFailed = results.some(({ result: { type, status, ref } }) => {
    const isChange = CHANGES.has(type);
    return isChange && status === 'FAILED' && url.endsWith(`/${ref}`);
  });
  return hasFailed && begun.all.some(({ what }) => !what.startsWith('GET') && what.endsWith(`/${id}`));
}

/**
 * Whether something took effect at the address for which nobody waited, or for who does not work any more, since that was cleared
 * last.
 */
export function mayDiffer({ provider, cluster }: ControlSite, url: string, since: number): boolean {
  const { assigned } = cluster.coordinator.group;
  const isWorking = ({ at, by }: Effect) => assigned.findLast((one) => one.at <= at)?.clientId === by;
  return provider.effects.some((effect) => {
    const isOld = effect.at < since || effect.subscription?.url !== url;
    return !isOld && (effect.isForsaken || !isWorking(effect));
  });
}

/**
 * When the last creation or adoption began that has succeeded for the address: what was there before it has removed. One that was
 * taken up again when all was done has asked for nothing since.
 */
function clearedAt(results: readonly StoredResult[], url: string): number {
  const cleared = results.filter(({ result: { type, status, ref, attempts, dryRun } }) => {
    const isOne = (type === 'subscription.create' || type === 'subscription.adopt') && !dryRun;
    return isOne && status === 'SUCCEEDED' && attempts !== 0 && url.endsWith(`/${ref}`);
  });
  return Math.max(0, ...cleared.map(({ result }) => Number(result.receivedAt) - START));
}
