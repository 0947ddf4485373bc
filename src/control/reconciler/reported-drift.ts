import { type CommandResult, RECONCILER } from '../../core/command.ts';
import { type Drift, listedDrift } from '../operations/find-drift.ts';

/** Which subscription a drift concerns: its ref, or its id if the subscription is foreign. */
export const subjectOfReport = ({ ref, subscriptionId }: Pick<CommandResult, 'ref' | 'subscriptionId'>) =>
  ref === null ? `id ${subscriptionId}` : `ref ${ref}`;

export const subjectOfDrift = ({ record, subscriptionId }: Drift) =>
  subjectOfReport({ ref: record?.ref ?? null, subscriptionId });

type Reported = Pick<
  CommandResult,
  'ref' | 'subscriptionId' | 'errorCode' | 'message' | 'finishedAt' | 'issuedBy'
>;

/**
 * Ends that are remembered. Where one is forgotten, an older report of its drift that is read later opens it again, until the next
 * comparison reports its end.
 */
const MAX_ENDED = 20_000;

/** The drift that any control process has reported: the results topic holds it, so a restart reports nothing twice. */
export class ReportedDrift {
  readonly #open = new Map<string, Reported>();
  /** By subject, when the end of its drift was reported: records of several partitions come in any order. */
  readonly #ended = new Map<string, number>();
  #latestAt = 0;

  /** Takes a record with the status DRIFT from the results topic. Partitions come in any order. */
  take(fields: Readonly<Record<string, unknown>>): void {
    const reported = fields as unknown as Reported;
    this.#latestAt = Math.max(this.#latestAt, Number(reported.finishedAt));
    const subject = subjectOfReport(reported);
    const at = Number(reported.finishedAt);
    const before = this.#open.get(subject)?.finishedAt ?? this.#ended.get(subject);
    if (before !== undefined && at < Number(before)) return;
    this.#open.delete(subject);
    this.#ended.delete(subject);
    if (reported.errorCode !== null) this.#open.set(subject, reported);
    else this.#ended.set(subject, at);
    if (this.#ended.size > MAX_ENDED) this.#ended.delete(this.#ended.keys().next().value as string);
  }

  /**
   * The time of the next report: behind that of each other one. By it the last one of a subscription is found, whatever process wrote
   * it and however its clock went.
   */
  nextAt(now: number): number {
    return Math.max(now, this.#latestAt + 1);
  }

  /** The drift that was reported last for each subscription, unless it was reported as resolved since. */
  open(): readonly Reported[] {
    return [...this.#open.values()];
  }

  of(subject: string): Reported | undefined {
    return this.#open.get(subject);
  }
}

/** What each report of one comparison carries. */
type Report = { readonly id: string; readonly httpStatus: number | null; readonly at: number };

/** A drift as a record of the results topic. */
export function driftResult(drift: Drift, report: Report): CommandResult {
  return result(listedDrift(drift), report);
}

/** The end of a drift that was reported before. */
export function driftResolved(
  { ref, subscriptionId }: Pick<CommandResult, 'ref' | 'subscriptionId'>,
  report: Report,
): CommandResult {
  return result({ ref, subscriptionId, errorCode: null, message: 'the drift has ended' }, report);
}

/** No command caused it, so it has no position in a command topic. */
function result(
  about: Pick<CommandResult, 'ref' | 'subscriptionId' | 'errorCode' | 'message'>,
  { id, httpStatus, at }: Report,
): CommandResult {
  return {
    ...about,
    commandId: id,
    type: 'reconcile',
    status: 'DRIFT',
    httpStatus,
    attempts: 1,
    subscriptions: null,
    drift: null,
    issuedBy: RECONCILER,
    dryRun: false,
    receivedAt: at,
    finishedAt: at,
    commandTopic: '',
    commandPartition: -1,
    commandOffset: -1,
  };
}
