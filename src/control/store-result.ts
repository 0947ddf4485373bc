import type { CommandResult } from '../core/command.ts';
import { hasCode } from '../core/errors.ts';
import type { Tenure } from '../core/lease.ts';
import type { ControlRecords } from './operations/operation.ts';

/**
 * Stores a command's result. Where it is larger than its topic takes, as the list of very many subscriptions may be, it
 * is stored with as much of its lists as fits, and says so: a result that can't be stored would come again for ever.
 * @returns what was stored
 */
export async function storeResult(
  result: CommandResult,
  records: Pick<ControlRecords, 'storeResult'>,
  tenure: Tenure,
): Promise<CommandResult> {
  for (let kept = result; ; ) {
    try {
      await records.storeResult(kept, tenure);
      return kept;
    } catch (error) {
      const listed = Math.max(kept.subscriptions?.length ?? 0, kept.drift?.length ?? 0);
      if (!hasCode(error, 'RECORD_TOO_LARGE') || listed === 0) throw error;
      kept = withFirst(Math.floor(listed / 2), result);
    }
  }
}

function withFirst(count: number, result: CommandResult): CommandResult {
  const subscriptions = result.subscriptions?.slice(0, count) ?? null;
  return {
    ...result,
    subscriptions,
    drift: result.drift?.slice(0, count) ?? null,
    message: `${result.message} (the list is cut to ${count}: it is larger than the results topic takes)`,
  };
}
