import { textWithCode } from '../core/errors.ts';
import type { Clock } from '../runtime/clock.ts';

/** What is refused is tried again every few seconds, and no later than this. */
const LASTS_MS = 30_000;

/**
 * For readiness: what the brokers have refused lately. Reading tells of each failure and not of its end, and a process that no
 * longer works writes nothing: what was not refused again counts as over.
 */
export class RecentRefusals {
  readonly #clock: Clock;
  readonly #latest = new Map<string, { readonly why: string; readonly at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param what such as "to read" and the topic */
  note(what: string, error: unknown): void {
    this.#latest.set(what, { why: textWithCode(error), at: this.#clock.now() });
  }

  over(what: string): void {
    this.#latest.delete(what);
  }

  trouble(): string | null {
    const since = this.#clock.now() - LASTS_MS;
    for (const { why, at } of this.#latest.values()) if (at > since) return why;
    return null;
  }
}
