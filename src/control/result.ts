import type { Command, CommandPlace, CommandResult, ResultStatus } from '../core/command.ts';
import { HooklineError } from '../core/errors.ts';
import type { Settled } from './operations/operation.ts';
import type { ReadCommand } from './read-command.ts';

type Circumstances = { readonly receivedAt: number; readonly place: CommandPlace };
type Made = { readonly attempts: number; readonly httpStatus: number | null };

/** The terminal result of a command that ended well, or with a failure of the error table. */
export function resultOf(
  command: Command,
  end: Settled | HooklineError,
  { receivedAt, place, attempts, httpStatus }: Circumstances & Made,
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
    message: cut(end.message + remarkOn(command)),
    attempts,
    subscriptions: (failed ? null : end.subscriptions) ?? null,
    drift: (failed ? null : end.drift) ?? null,
    issuedBy: cut(command.issuedBy),
    dryRun: command.dryRun,
    receivedAt,
    finishedAt: Date.now(),
    ...placeFields(place),
  };
}

/** The result of a command that can't be read, as far as it says who it is. */
export function resultOfPoison(
  { reason, fields }: Extract<ReadCommand, { ok: false }>,
  { commandId, receivedAt, place }: Circumstances & { readonly commandId: string },
): CommandResult {
  const text = (value: unknown) => cut(typeof value === 'string' ? value : null);
  return {
    commandId,
    type: text(fields.type) ?? '',
    ref: text(fields.ref),
    status: 'REJECTED',
    subscriptionId: null,
    httpStatus: null,
    errorCode: reason.code,
    message: cut(reason.message),
    attempts: 0,
    subscriptions: null,
    drift: null,
    issuedBy: text(fields.issuedBy),
    dryRun: fields.dryRun === true,
    receivedAt,
    finishedAt: Date.now(),
    ...placeFields(place),
  };
}

function statusOf(error: HooklineError): ResultStatus {
  return error.result ?? 'FAILED';
}

/** A mistyped field would otherwise be passed over in silence. */
function remarkOn({ unknownFields }: Command): string {
  return unknownFields.length === 0 ? '' : ` (unknown fields passed over: ${unknownFields.join(', ')})`;
}

/** Characters of a text that comes from a command: its sender may have written a megabyte, which fits no result. */
const MOST_TEXT = 2_000;

function cut<T extends string | null>(text: T): T | string {
  return text !== null && text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text;
}

const placeFields = ({ topic, partition, offset }: CommandPlace) => ({
  commandTopic: topic,
  commandPartition: partition,
  commandOffset: offset,
});
