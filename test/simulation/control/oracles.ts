import { judgeCommands } from './judge-commands.ts';
import { judgeProvider } from './judge-provider.ts';
import { commandsIn, resultsIn, stateIn } from './ledger.ts';
import type { ControlPlan } from './plan.ts';
import type { ControlSite } from './site.ts';

/** Every promise that was broken, one line each; when a schedule is over and everything works again. */
export function judgeControl(site: ControlSite, plan: ControlPlan): string[] {
  const { cluster } = site;
  const [commands, results, state] = [commandsIn(cluster), resultsIn(cluster), stateIn(cluster)];
  return [
    ...judgeCommands({ plan, commands, results, state }),
    ...judgeProvider(site, results, state),
    ...judgeWorker(site),
  ];
}

/** Who begins to change something at the provider has the partitions, and no other has been given them since. */
function judgeWorker({ cluster, begun }: ControlSite): string[] {
  const { assigned } = cluster.coordinator.group;
  return begun.all.flatMap(({ at, actor, what }) => {
    if (what.startsWith('GET') || what.endsWith('/oauth/token')) return [];
    const worker = assigned.findLast((one) => one.at <= at)?.clientId;
    return worker === actor.name ? [] : [`${actor.name} begins ${what} at ${at} although ${worker} works`];
  });
}
