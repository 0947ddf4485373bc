import type { CommandType } from '../../core/command.ts';
import { newId } from '../../crypto/ids.ts';
import type { Action, Change } from './plan.ts';

/** A command of a plan, as it stands in its topic. */
export type PlannedCommand = {
  readonly commandId: string;
  readonly type: CommandType;
  readonly ref: string;
  readonly events?: readonly string[];
  readonly extra?: Readonly<Record<string, unknown>>;
  readonly ifMatch?: string;
};

/**
 * The commands of a change, in their order. They bear what the plan was made by: what somebody else has asked for in
 * the meantime is not undone.
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
      const deletion = command('delete', match);
      return [deletion, command('create', { ...wanted, ifMatch: deletion.commandId })];
    }
  }
}
