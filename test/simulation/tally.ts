import { createHash } from 'node:crypto';

/** What became of one schedule. */
export type Finding = {
  /** Its place among all, from 0. */
  readonly n: number;
  readonly seed: number;
  readonly trace: string;
  readonly of: 'webhooks' | 'control';
  /** Webhooks that were acknowledged, or commands that were carried out. */
  readonly acknowledged: number;
  readonly violations: readonly string[];
};

/** Adds the schedules up, in their order, whichever job ran them. */
export class Tally {
  readonly #early = new Map<number, Finding>();
  readonly #trace = createHash('sha256');
  #next = 0;
  schedules = 0;
  violations = 0;
  readonly acknowledged = { webhooks: 0, control: 0 };

  add(finding: Finding): void {
    this.#early.set(finding.n, finding);
    for (let next = this.#early.get(this.#next); next; next = this.#early.get(this.#next)) {
      this.#early.delete(this.#next++);
      this.#count(next);
    }
  }

  /** The last line. What comes before it may have gaps: one job was faster. */
  end(): string {
    for (const finding of [...this.#early.values()].sort((a, b) => a.n - b.n)) this.#count(finding);
    return `schedules ${this.schedules}, violations ${this.violations}, trace ${this.#trace.digest('hex')}`;
  }

  #count({ trace, of, acknowledged, violations }: Finding): void {
    this.schedules++;
    this.acknowledged[of] += acknowledged;
    if (violations.length > 0) this.violations++;
    this.#trace.update(trace);
  }
}

const TELL_EVERY_MS = 60_000;

/** Of a long run, how far it is: the function that is returned is called with each schedule, and says it once a minute. */
export function progressOf(
  tally: Pick<Tally, 'schedules' | 'violations'>,
  say: (line: string) => void,
  now: () => number = () => performance.now(),
): () => void {
  const start = now();
  let last = start;
  return () => {
    if (now() - last < TELL_EVERY_MS) return;
    last = now();
    const minutes = Math.round((last - start) / 60_000);
    say(`${minutes} min: ${tally.schedules} schedules, ${tally.violations} violations`);
  };
}
