import { HooklineError } from '../core/errors.ts';
import type { Clock, Timer } from '../runtime/clock.ts';

/**
 * After a failure writes fail at once, but for single ones that find out whether the store is back: the pauses before these; the last
 * one is for all that follow.
 */
const TRY_AFTER_MS = [1_000, 2_000, 4_000, 5_000];
/**
 * A store that fails again within this time was not back: the pauses go on where they were, and it counts as unavailable
 * until it has failed for so long no more. An alert that waits for a minute would never fire otherwise.
 */
const STEADY_MS = 60_000;

/** What showed the state of the store: a message, or the small object of {@link BodyStore.check}. */
export type Evidence = 'message' | 'check';

/** What is known of a failure. Not the error: the frames of its stack hold what was written, 50 MB of it. */
type Trouble = Pick<HooklineError, 'code' | 'detail' | 'remedy' | 'message'>;

/**
 * The circuit breaker of the object store. After a failure writes fail at once; single ones try the store, at growing
 * intervals. A full store may still take the small object of a check: after a message has failed, only a message shows
 * that it takes messages again.
 */
export class StoreBreaker {
  readonly #clock: Clock;
  readonly #report: (why: string | null) => void;
  #trouble: Trouble | null = null;
  /** Whether nothing but checks has failed. */
  #isByCheck = false;
  #isMessageAwaited = false;
  #failures = 0;
  #failedAt = Number.NEGATIVE_INFINITY;
  /** While the store is in trouble: when the next write may try it. */
  #tryAt = 0;
  #isTrying = false;
  #isReported = false;
  #isRelapse = false;
  #recovery: Timer | undefined;

  /** @param report called with why the store takes nothing, and with null when it does again */
  constructor(clock: Clock, report: (why: string | null) => void) {
    this.#clock = clock;
    this.#report = report;
  }

  /** Why the store takes nothing, or null. */
  get trouble(): string | null {
    return this.#trouble?.message ?? null;
  }

  /** Why a write would fail at once, or null: a store in trouble gets a single write from time to time. */
  get refusal(): HooklineError | null {
    if (!this.#trouble || (!this.#isTrying && this.#clock.now() >= this.#tryAt)) return null;
    const { code, detail, remedy } = this.#trouble;
    return new HooklineError(code, detail, remedy === undefined ? {} : { remedy });
  }

  /** The store has taken the object of a check, and is still in trouble: the next message decides. */
  get isMessageAwaited(): boolean {
    return this.#isMessageAwaited;
  }

  /** A write begins. @returns to be called when it has ended */
  begin(): () => void {
    if (!this.#trouble) return () => {};
    this.#isTrying = true;
    return () => {
      this.#isTrying = false;
    };
  }

  passed(by: Evidence): void {
    if (!this.#trouble) return;
    if (by === 'check' && !this.#isByCheck) {
      this.#isMessageAwaited = true;
      this.#tryAt = this.#clock.now();
      return;
    }
    this.#trouble = null;
    this.#isMessageAwaited = false;
    if (!this.#isRelapse) return this.#reportRecovery();
    this.#recovery = this.#clock.after(STEADY_MS, () => this.#reportRecovery(), { ref: false });
  }

  failed(error: Trouble, by: Evidence): void {
    const now = this.#clock.now();
    if (!this.#trouble) {
      this.#isRelapse = now - this.#failedAt < STEADY_MS;
      if (!this.#isRelapse) this.#failures = 0;
      this.#isByCheck = true;
      this.#tryAt = now;
    }
    this.#isByCheck &&= by === 'check';
    this.#isMessageAwaited = false;
    this.#failedAt = now;
    // Those that were under way together fail together: they are one failure.
    if (now >= this.#tryAt)
      this.#tryAt = now + (TRY_AFTER_MS[Math.min(this.#failures++, TRY_AFTER_MS.length - 1)] ?? 0);
    const { code, detail, remedy, message } = error;
    this.#trouble = { code, detail, remedy, message };
    this.#recovery?.cancel();
    if (!this.#isReported) this.#report(message);
    this.#isReported = true;
  }

  #reportRecovery(): void {
    if (this.#isReported) this.#report(null);
    this.#isReported = false;
  }
}
