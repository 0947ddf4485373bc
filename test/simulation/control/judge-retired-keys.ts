import { openSecrets, type SubscriptionRecord } from '../../../src/subscriptions/subscription-record.ts';
import { START } from '../engine/simulation.ts';
import type { EndedCommand } from './ledger.ts';
import { SEALING_KEYS } from './parts.ts';
import type { ControlSite } from './site.ts';

/** Keys that live for less than this are not asked for: they may have ended while the schedule did. */
const NEARLY_OVER_MS = 120_000;
/** What is over is forgotten with one of the next comparisons. */
const LATE_MS = 20_000;

/** The keys of what was deleted verify webhooks that are still on their way, for RETIRED_KEYS_TTL_MS and not much longer. */
export function judgeRetiredKeys(
  {
    provider,
    system,
    simulation,
    foreign,
  }: Pick<ControlSite, 'provider' | 'system' | 'simulation' | 'foreign'>,
  ended: readonly EndedCommand[],
  state: ReadonlyMap<string, SubscriptionRecord>,
): string[] {
  const now = simulation.now + START;
  const { retiredKeysTtlMs, reconcileIntervalMs } = system;
  const deleted = ended.filter(isDeletion).map(({ result }) => result);
  const forgotten = [...deleted, ...createdAnew(ended)].flatMap(({ ref, subscriptionId, finishedAt }) => {
    // Those of SECRETS_DIR are in the hands of who has put them there.
    if (foreign.get(ref ?? '')?.id === subscriptionId) return [];
    if (Number(finishedAt) + retiredKeysTtlMs < now + NEARLY_OVER_MS) return [];
    const secret = provider.secrets.get(subscriptionId ?? '');
    const isKept = keysIn(state.get(ref ?? '')).some(
      (one) => one.subscriptionId === subscriptionId && one.signingSecret === secret,
    );
    return isKept ? [] : [`${ref}: the keys of ${subscriptionId} are forgotten although they are live`];
  });
  const latest = retiredKeysTtlMs + 2 * reconcileIntervalMs + LATE_MS;
  const kept = [...state]
    .filter(([, { state: is, updatedAt }]) => is === 'RETIRED' && Number(updatedAt) + latest < now)
    .map(([ref, { updatedAt }]) => `${ref}: is kept ${now - Number(updatedAt)} ms after its end`);
  return [...forgotten, ...kept];
}

type Ended = Pick<EndedCommand['result'], 'ref' | 'subscriptionId' | 'finishedAt'>;

/** What the provider no longer had when it was created anew. */
function createdAnew(ended: readonly EndedCommand[]): Ended[] {
  const last = new Map<string, string | null>();
  return ended
    .toSorted((a, b) => a.offset - b.offset)
    .flatMap(({ fields, result }): Ended[] => {
      const { ref, subscriptionId, status, finishedAt } = result;
      if (ref === null || result.dryRun || status === 'REJECTED' || status === 'DUPLICATE') return [];
      const before = last.get(ref);
      const isCreation = fields.type === 'subscription.create';
      if (isCreation && status === 'SUCCEEDED') {
        last.set(ref, subscriptionId);
        return before != null && fields.ifMatch !== undefined
          ? [{ ref, subscriptionId: before, finishedAt }]
          : [];
      }
      // What it has ended with may be in doubt.
      if (!isCreation && fields.type !== 'webhook.replay' && fields.type !== 'subscription.update')
        last.delete(ref);
      return [];
    });
}

/** What was there is deleted. */
const isDeletion = ({ fields, result }: EndedCommand) =>
  fields.type === 'subscription.delete' &&
  result.subscriptionId !== null &&
  !result.dryRun &&
  ['deleted', 'deleted: the provider no longer had it'].includes(result.message ?? '');

function keysIn(record: SubscriptionRecord | undefined) {
  if (!record?.sealedKeys) return [];
  const { signingSecret, previous = [] } = openSecrets(SEALING_KEYS, record, record.sealedKeys) ?? {};
  return [{ subscriptionId: record.subscriptionId, signingSecret }, ...previous];
}
