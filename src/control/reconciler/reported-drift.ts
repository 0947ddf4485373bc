import type { CommandResult } from '../../core/command.ts';
import type { Drift } from '../operations/find-drift.ts';

/** Which subscription a drift is of: its ref, or of a foreign one its id. */
export const subjectOf = ({ ref, subscriptionId }: { ref: string | null; subscriptionId: string | null }) =>
  ref === null ? `id ${subscriptionId}` : `ref ${ref}`;

type Told = Pick<
  CommandResult,
  'ref' | 'subscriptionId' | 'errorCode' | 'message' | 'finishedAt' | 'issuedBy'
>;

/**
 * What has been told of drift, by whichever process: the results topic remembers it, so that a restart tells nothing
 * twice.
 */
export class ToldDrift {
  readonly #told = new Map<string, Told>();

  /** A record with the status DRIFT, as the topic holds it. Partitions come in any order. */
  take(fields: Readonly<Record<string, unknown>>): void {
    const told = fields as unknown as Told;
    const subject = subjectOf(told);
    const before = this.#told.get(subject);
    if (!before || Number(told.finishedAt) >= Number(before.finishedAt)) this.#told.set(subject, told);
  }

  /** The drift that was told last of each subscription and has not ended since. */
  open(): readonly Told[] {
    return [...this.#told.values()].filter(({ errorCode }) => errorCode !== null);
  }

  of(subject: string): Told | undefined {
    const told = this.#told.get(subject);
    return told && told.errorCode !== null ? told : undefined;
  }
}

export const subjectOfDrift = ({ record, subscriptionId }: Drift) =>
  subjectOf({ ref: record?.ref ?? null, subscriptionId });
