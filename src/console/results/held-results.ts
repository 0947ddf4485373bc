import { subjectOfReport } from '../../control/reconciler/reported-drift.ts';
import type { CommandResult } from '../../core/command.ts';
import { cutText } from '../../core/cut-text.ts';
import type { Position } from '../../core/record.ts';

/** A result with long texts and lists shortened. */
export type HeldResult = CommandResult & {
  /** Entries of its lists that are in the topic only. */
  readonly moreSubscriptions: number;
  readonly moreDrift: number;
};

/** A report of drift, or of its end: that has no error code. */
export type DriftReport = Pick<
  CommandResult,
  'ref' | 'subscriptionId' | 'errorCode' | 'message' | 'finishedAt'
>;

const MAX_RESULTS = 3_000;
/** Subscriptions whose last report of drift is held. */
const MAX_DRIFT = 10_000;
/** Trimming takes a sort: it waits until so many times the limit are held. */
const SLACK = 1.1;
/** Characters of a text: control shortens messages to as many. */
const MAX_TEXT = 2_001;
/** Entries of each list, and characters of both lists together as JSON: subscription.list can have tens of thousands of entries. */
const MAX_ENTRIES = 50;
const MAX_LIST_CHARACTERS = 8_000;

type Held = Pick<Position, 'partition' | 'offset'> & { readonly result: HeldResult };

/** The latest results over all partitions and, apart from them, the last drift of each subscription. Bounded in memory. */
export class HeldResults {
  readonly #maxResults: number;
  readonly #maxDrift: number;
  /** By position: a record can be read twice. */
  readonly #results = new Map<string, Held>();
  /** Ended drift too: partitions come in any order, and an earlier report of it must not count after its end. */
  readonly #drift = new Map<string, DriftReport>();
  #isPartial = false;
  #isDriftPartial = false;

  constructor({ results = MAX_RESULTS, drift = MAX_DRIFT }: { results?: number; drift?: number } = {}) {
    this.#maxResults = results;
    this.#maxDrift = drift;
  }

  take({ partition, offset }: Pick<Position, 'partition' | 'offset'>, result: CommandResult): void {
    this.#results.set(`${partition}/${offset}`, { partition, offset, result: shortened(result) });
    this.#isPartial ||= this.#results.size > this.#maxResults;
    trim(this.#results, this.#maxResults, (a, b) => latestFirst(a.result, b.result));
    this.takeDrift(result);
  }

  /** Takes only what a result reports of drift. */
  takeDrift(result: CommandResult): void {
    if (result.status !== 'DRIFT') return;
    const { ref, subscriptionId, errorCode, message, finishedAt } = shortened(result);
    const report = { ref, subscriptionId, errorCode, message, finishedAt };
    const subject = subjectOfReport(report);
    const before = this.#drift.get(subject);
    if (before && before.finishedAt > finishedAt) return;
    this.#drift.set(subject, report);
    const removed = trim(
      this.#drift,
      this.#maxDrift,
      (a, b) => Number(isOpen(b)) - Number(isOpen(a)) || latestFirst(a, b),
    );
    this.#isDriftPartial ||= removed.some(isOpen);
  }

  /** The latest first; of one ref, where one is given. */
  latest(ref?: string): readonly HeldResult[] {
    const all = [...this.#results.values()].map(({ result }) => result).sort(latestFirst);
    return all.slice(0, this.#maxResults).filter((result) => ref === undefined || result.ref === ref);
  }

  /** The first result of a command is what became of it; a later one says at most that the command came again. */
  of(commandId: string): HeldResult | undefined {
    const found = [...this.#results.values()]
      .filter(({ result }) => result.commandId === commandId && result.status !== 'DRIFT')
      .sort(firstWrittenFirst)
      .map(({ result }) => result);
    return found.find(({ status }) => status !== 'DUPLICATE') ?? found[0];
  }

  drift(): readonly DriftReport[] {
    return [...this.#drift.values()].filter(isOpen);
  }

  /** Results have been let go of. */
  get isPartial(): boolean {
    return this.#isPartial;
  }

  /** Drift that has not ended has been let go of. */
  get isDriftPartial(): boolean {
    return this.#isDriftPartial;
  }
}

const isOpen = ({ errorCode }: DriftReport): boolean => errorCode !== null;

const latestFirst = (a: { finishedAt: number }, b: { finishedAt: number }): number =>
  b.finishedAt - a.finishedAt;

/** A command's results are in one partition, unless the topic has got more: there clocks do not matter. */
const firstWrittenFirst = (a: Held, b: Held): number =>
  a.partition === b.partition ? Number(a.offset - b.offset) : latestFirst(b.result, a.result);

/** Removes what comes last by `order`, and returns it. */
function trim<V>(held: Map<string, V>, max: number, order: (a: V, b: V) => number): V[] {
  if (held.size <= max * SLACK) return [];
  const removed = [...held].sort(([, a], [, b]) => order(a, b)).slice(max);
  for (const [key] of removed) held.delete(key);
  return removed.map(([, one]) => one);
}

function shortened(result: CommandResult): HeldResult {
  let left = MAX_LIST_CHARACTERS;
  const first = <T>(list: readonly T[] | null): T[] => {
    const held: T[] = [];
    for (const entry of (list ?? []).slice(0, MAX_ENTRIES)) {
      left -= JSON.stringify(entry).length;
      if (left < 0) break;
      held.push(entry);
    }
    return held;
  };
  const texts = Object.entries(result).filter(([, value]) => typeof value === 'string');
  const subscriptions = first(result.subscriptions);
  const drift = first(result.drift);
  return {
    ...result,
    ...Object.fromEntries(texts.map(([name, text]) => [name, cutText(text as string, MAX_TEXT)])),
    subscriptions: result.subscriptions && subscriptions,
    drift: result.drift && drift,
    moreSubscriptions: (result.subscriptions?.length ?? 0) - subscriptions.length,
    moreDrift: (result.drift?.length ?? 0) - drift.length,
  };
}
