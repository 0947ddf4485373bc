import { type EndedCommand, nameOf } from './ledger.ts';

/** The id of the command that changed the ref last; null: none has; undefined: that is not known. */
type Last = string | null | undefined;

/** `ifMatch` (docs/commands.md): a command that names another than the last change of its ref is not carried out. */
export function judgeMatches(ended: readonly EndedCommand[]): string[] {
  const byRef = Map.groupBy(ended, ({ fields }) => fields.ref ?? '');
  byRef.delete('');
  return [...byRef.values()].flatMap((of) => {
    let last: Last = null;
    return of
      .toSorted((a, b) => a.offset - b.offset)
      .flatMap((command) => {
        if (command.result.status === 'DUPLICATE') return [];
        const fault = matchFault(command, last);
        last = lastBehind(command, last);
        return fault ? [`${nameOf(command)} ${fault}`] : [];
      });
  });
}

function matchFault({ fields, result }: EndedCommand, last: Last): string | undefined {
  const { ifMatch, type } = fields;
  if (result.errorCode === 'PRECONDITION_FAILED') {
    if (ifMatch === undefined) return 'has no ifMatch, and fails by it';
    return last === ifMatch ? 'fails by its ifMatch, which is right' : undefined;
  }
  // What is deleted already needs not be deleted.
  const needsNone = last === null && type === 'subscription.delete';
  const isWrong = ifMatch !== undefined && last !== undefined && last !== ifMatch && !needsNone;
  return isWrong ? `ends with ${result.status} ${result.errorCode}, and ${last} was last` : undefined;
}

function lastBehind({ fields, result }: EndedCommand, last: Last): Last {
  const { commandId, type } = fields;
  const { status, message, errorCode } = result;
  if (errorCode === 'PRECONDITION_FAILED' || result.dryRun || type === 'webhook.replay') return last;
  if (status === 'REJECTED') return last;
  if (status !== 'SUCCEEDED') return undefined;
  if (type !== 'subscription.delete') return commandId;
  if (message?.startsWith('nothing to delete')) return message.includes('no subscription') ? null : undefined;
  if (message?.startsWith('forgotten')) return null;
  return message?.startsWith('deleted: its ') ? undefined : commandId;
}
