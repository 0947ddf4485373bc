import { LARGE_BODY_BYTES } from '../../core/delivery.ts';
import type { Clock } from '../../runtime/clock.ts';
import { ByteSemaphore } from './byte-semaphore.ts';
import type { OpenBody } from './open-bodies.ts';

/** What came in one chunk is charged with nothing: no more of it than this waits for the end of a turn. */
const TOGETHER_BYTES = 4 * 1024 ** 2;

/**
 * The memory that bodies hold while they are not verified: charged as they arrive, for what has arrived. Half of it is
 * given at once, so that no body waits behind one that was only announced. A body that needs more when that half is taken waits
 * until all that may still arrive fits into the other half: so those that have begun there also arrive whole.
 */
export class ArrivingMemory {
  readonly bytes: ByteSemaphore;
  readonly #clock: Clock;
  /** Bodies that have arrived in this turn, and how many bytes they have. */
  #together: PromiseWithResolvers<void> | undefined;
  #togetherBytes = 0;

  /** At least what one of the largest small bodies needs, twice. */
  constructor(bytes: number, clock: Clock) {
    this.bytes = new ByteSemaphore(Math.max(bytes, 2 * LARGE_BODY_BYTES), clock);
    this.#clock = clock;
  }

  /**
   * Resolves for all bodies that arrive in one turn of the event loop when the last of them has arrived, in their order: they are
   * then verified and stored one after the other. A processor that does the same again has its code at hand, and needs a
   * quarter less time.
   */
  together(bytes: number): Promise<void> {
    this.#together ??= this.#beginTurn();
    const { promise } = this.#together;
    this.#togetherBytes += bytes;
    if (this.#togetherBytes > TOGETHER_BYTES) this.#endTurn(this.#together);
    return promise;
  }

  #beginTurn(): PromiseWithResolvers<void> {
    const turn = Promise.withResolvers<void>();
    void this.#clock.turn().then(() => this.#endTurn(turn));
    return turn;
  }

  #endTurn(turn: PromiseWithResolvers<void>): void {
    turn.resolve();
    if (turn !== this.#together) return;
    this.#together = undefined;
    this.#togetherBytes = 0;
  }

  /** Charges a body for bytes that have arrived. False: it has to wait, with `reserve`. */
  charge(body: OpenBody, bytes: number): boolean {
    if (body.reserved >= bytes) {
      body.reserved -= bytes;
      return true;
    }
    const { taken, capacity } = this.bytes;
    if (taken + bytes > capacity / 2 || !this.bytes.tryAcquire(bytes)) return false;
    body.charged += bytes;
    return true;
  }

  /** Charges a body that will wait elsewhere, whether there is memory or not. */
  addUnchecked(body: OpenBody, bytes: number): void {
    if (this.charge(body, bytes)) return;
    this.bytes.addUnchecked(bytes);
    body.charged += bytes;
  }

  /**
   * Waits for all that the body may still need: proven ones first, and of them those that need less.
   * @throws HooklineError NO_ROOM, and the reason of `gone`
   */
  async reserve(body: OpenBody, bytes: number, waitMs: number, gone: AbortSignal): Promise<void> {
    await this.bytes.acquire(bytes, waitMs, gone, { cost: bytes, class: body.class });
    body.charged += bytes;
    body.reserved += bytes;
  }

  /** Gives back all that the body holds. */
  release(body: OpenBody): void {
    if (body.charged > 0) this.bytes.release(body.charged);
    body.charged = 0;
    body.reserved = 0;
  }
}
