import type { Effect } from '../provider/model-provider.ts';
import type { ControlSite } from './site.ts';

/**
 * A creation makes no second subscription at an address: each would be delivered, and be signed with a secret that nobody has. What
 * came into being after its process began to work may be late, and unseen.
 */
export function judgeCreations({ provider, cluster }: ControlSite): string[] {
  const { assigned } = cluster.coordinator.group;
  const standing = new Map<string, { readonly url: string; readonly since: number }>();
  return provider.effects.flatMap((effect) => {
    const { what, subscription } = effect;
    if (!subscription) return [];
    const { id, url } = subscription;
    const seenBy = assigned.findLast(({ at }) => at <= effect.at);
    const second = [...standing].find(([, one]) => one.url === url && one.since < (seenBy?.at ?? 0));
    if (what === 'deletes') standing.delete(id);
    else standing.set(id, { url, since: what === 'creates' ? effect.at : (standing.get(id)?.since ?? 0) });
    const isJudged = isCreation(effect) && effect.by === seenBy?.clientId;
    return isJudged && second ? [`${id} is created for ${url}, which has ${second[0]}`] : [];
  });
}

/** One for which its process waits. */
const isCreation = ({ what, isForsaken }: Effect) => what === 'creates' && !isForsaken;
