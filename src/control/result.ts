import type { Command, CommandPosition, CommandResult, ResultStatus } from '../core/command.ts';
import { shortText } from '../core/cut-text.ts';
import { HooklineError, hasCode } from '../core/errors.ts';
import type { Lease } from '../core/lease.ts';
import type { ControlRecords, Settled } from './operations/operation.ts';
import type { ReadCommand } from './read-command.ts';

type Circumstances = {
  readonly receivedAt: number;
  readonly finishedAt: number;
  readonly position: CommandPosition;
};
type Made = { readonly attempts: number; readonly httpStatus: number | null };

/** The terminal result of a command that ended well, or with a failure of the error table. */
export function resultOf(
  command: Command,
  end: Settled | HooklineError,
  { receivedAt, finishedAt, position, attempts, httpStatus }: Circumstances & Made,
): CommandResult {
  const failed = end instanceof HooklineError;
  return {
    commandId: command.commandId,
    type: command.type,
    ref: command.ref || null,
    status: failed ? statusOf(end) : 'SUCCEEDED',
    subscriptionId: (failed ? null : end.subscriptionId) ?? null,
    httpStatus,
    errorCode: failed ? end.code : null,
    message: shorten(end.message + remarkOn(command)),
    attempts,
    subscriptions: (failed ? null : end.subscriptions) ?? null,
    drift: (failed ? null : end.drift) ?? null,
    issuedBy: shorten(command.issuedBy),
    dryRun: command.dryRun,
    receivedAt,
    finishedAt,
    ...positionFields(position),
  };
}

/** The result of a command that cannot be read, with the fields that identify it as far as they are known. */
export function resultOfPoison(
  { reason, fields }: Extract<ReadCommand, { ok: false }>,
  { commandId, receivedAt, finishedAt, position }: Circumstances & { readonly commandId: string },
): CommandResult {
  const text = (value: unknown) => shorten(typeof value === 'string' ? value : null);
  return {
    commandId,
    type: text(fields.type) ?? '',
    ref: text(fields.ref),
    status: reason.result ?? 'REJECTED',
    subscriptionId: null,
    httpStatus: null,
    errorCode: reason.code,
    message: shorten(reason.message),
    attempts: 0,
    subscriptions: null,
    drift: null,
    issuedBy: text(fields.issuedBy),
    dryRun: fields.dryRun === true,
    receivedAt,
    finishedAt,
    ...positionFields(position),
  };
}

function statusOf(error: HooklineError): ResultStatus {
  return error.result ?? 'FAILED';
}

/** Without it nobody would notice a mistyped field. */
function remarkOn({ unknownFields }: Command): string {
  return unknownFields.length === 0 ? '' : ` (unknown fields passed over: ${unknownFields.join(', ')})`;
}

/** Characters of a text from a command: its sender may have written a megabyte, which fits no result. */
const MAX_TEXT = 2_000;

const shorten = (text: string | null) => text && shortText(text, MAX_TEXT);

const positionFields = ({ topic, partition, offset }: CommandPosition) => ({
  commandTopic: topic,
  commandPartition: partition,
  commandOffset: offset,
});

/**
 * Stores a command's result. Where it is larger than its topic takes, as the list of very many subscriptions may be, it
 * is stored with as much of its lists as fits, and says so. Without lists it waits until its topic takes it: if the command came
 * again, it would ask the provider again each time.
 * @returns what was stored
 */
export async function storeResult(
  result: CommandResult,
  records: Pick<ControlRecords, 'storeResult'>,
  lease: Lease,
): Promise<CommandResult> {
  for (let kept = result; ; ) {
    const listed = Math.max(kept.subscriptions?.length ?? 0, kept.drift?.length ?? 0);
    try {
      await records.storeResult(kept, lease, { isSmallest: listed === 0 });
      return kept;
    } catch (error) {
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
