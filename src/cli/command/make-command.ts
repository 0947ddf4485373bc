import { type CommandType, isCommandId, MAX_EXECUTION_IDS } from '../../core/command.ts';
import { UsageError } from '../../core/errors.ts';
import { isRef, REF_RULE } from '../../core/names.ts';
import { newId } from '../../crypto/ids.ts';
import { ifGiven, secondsAsMs } from '../shell/option-values.ts';

/** What somebody gives for a command. */
export type CommandInput = {
  readonly ref?: string | undefined;
  readonly events?: readonly string[] | undefined;
  readonly executionIds?: readonly string[] | undefined;
  /** A JSON object. */
  readonly extra?: string | undefined;
  readonly issuedBy?: string | undefined;
  /** Seconds. */
  readonly expiresIn?: string | undefined;
  readonly dryRun?: boolean | undefined;
  readonly commandId?: string | undefined;
  /** Id of the command that changed the ref last. */
  readonly ifMatch?: string | undefined;
};

type Field = keyof CommandInput;

/** A field as an option of the command line: `--execution-ids`. */
export const optionNameOf = (field: Field): string =>
  `--${field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/**
 * A command as its topic has it. Checks here what control would reject anyway, because nobody may see the result.
 * @param nameOf how its user knows a field
 * @throws UsageError
 */
export function makeCommand(type: CommandType, input: CommandInput, nameOf: (field: Field) => string) {
  const { ref, executionIds } = input;
  if (ref === undefined && type !== 'subscription.list')
    throw new UsageError(`${type} needs ${nameOf('ref')}.`);
  if (ref !== undefined && !isRef(ref)) {
    throw new UsageError(`${nameOf('ref')} is ${JSON.stringify(ref)}: ${REF_RULE}.`);
  }
  if (input.events?.length === 0)
    throw new UsageError(`${nameOf('events')} is empty: name at least one event, or leave it out.`);
  if (type === 'webhook.replay' && !executionIds?.length)
    throw new UsageError(`${type} needs ${nameOf('executionIds')}.`);
  if ((executionIds?.length ?? 0) > MAX_EXECUTION_IDS)
    throw new UsageError(
      `${nameOf('executionIds')} has ${executionIds?.length} entries, at most ${MAX_EXECUTION_IDS} are allowed: send several commands.`,
    );
  if (input.commandId !== undefined && !isCommandId(input.commandId)) {
    throw new UsageError(
      `${nameOf('commandId')} is ${JSON.stringify(input.commandId)}: give 1 to 200 visible characters of ASCII, best a UUID.`,
    );
  }
  const now = Date.now();
  const expiresInMs = ifGiven(input.expiresIn, (text) => secondsAsMs(nameOf('expiresIn'), text));
  return {
    commandId: input.commandId ?? newId(),
    type,
    ref,
    events: input.events,
    executionIds,
    extra: input.extra === undefined ? undefined : parseExtra(input.extra, nameOf('extra')),
    issuedBy: input.issuedBy,
    issuedAt: new Date(now).toISOString(),
    expiresAt: expiresInMs === undefined ? undefined : new Date(now + expiresInMs).toISOString(),
    dryRun: input.dryRun,
    ifMatch: input.ifMatch,
  };
}

function parseExtra(text: string, name: string): object {
  try {
    const extra: unknown = JSON.parse(text);
    if (typeof extra === 'object' && extra !== null && !Array.isArray(extra)) return extra;
  } catch {
    // Reported below, like every other value that is not an object.
  }
  throw new UsageError(`${name} is not a JSON object: give one such as {"description":"ledger"}.`);
}
