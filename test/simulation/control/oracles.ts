import { judgeAdoptions } from './judge-adoptions.ts';
import { judgeCommands } from './judge-commands.ts';
import { judgeCreations } from './judge-creations.ts';
import { judgeDeadLetters } from './judge-dead-letters.ts';
import { judgeDrift } from './judge-drift.ts';
import { judgeMatches } from './judge-matches.ts';
import { judgeProvider } from './judge-provider.ts';
import { judgeRepairs } from './judge-repairs.ts';
import { judgeKeys, judgeResults } from './judge-results.ts';
import { judgeRetiredKeys } from './judge-retired-keys.ts';
import { commandsIn, endedIn, resultsIn, stateIn } from './ledger.ts';
import type { ControlPlan } from './plan.ts';
import type { ControlSite } from './site.ts';

/** Every promise that was broken, one line each; when a schedule is over and everything works again. */
export function judgeControl(site: ControlSite, plan: ControlPlan): string[] {
  const { cluster } = site;
  const commands = commandsIn(cluster);
  const results = resultsIn(cluster);
  const state = stateIn(cluster);
  const ended = endedIn(commands, results);
  // Its times are the process's own then.
  const hasTrueTimes = plan.faults.every(({ kind }) => kind !== 'clock-jump');
  return [
    ...judgeCommands({ plan, commands, results, state }),
    ...judgeResults(site, ended, hasTrueTimes),
    ...judgeKeys(results),
    ...judgeMatches(ended),
    ...judgeAdoptions(site, ended, state),
    ...judgeCreations(site),
    ...judgeRepairs(ended, state),
    ...judgeDeadLetters(cluster, commands),
    ...(hasTrueTimes ? judgeDrift(site, results, state) : []),
    ...(hasTrueTimes ? judgeRetiredKeys(site, ended, state) : []),
    ...judgeProvider(site, { results, state, hasTrueTimes }),
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
