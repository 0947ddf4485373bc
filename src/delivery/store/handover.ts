import type { Clock, Timer } from '../../runtime/clock.ts';

/** How long new deliveries wait at most while the last of the spool goes to Kafka; then they go behind it. */
export const HANDOVER_MS = 1_000;

/** While the spool is nearly empty, what would go there waits: under steady traffic it would never be empty otherwise. */
export class Handover<Entry> {
  readonly #clock: Clock;
  readonly #take: (entry: Entry) => void;
  #timer: Timer | undefined;
  /** In the order of their arrival. */
  #queued: Entry[] = [];

  /** @param take called with each that waited, when the handover has ended */
  constructor(clock: Clock, take: (entry: Entry) => void) {
    this.#clock = clock;
    this.#take = take;
  }

  begin(): void {
    this.#timer ??= this.#clock.after(HANDOVER_MS, () => this.end());
  }

  /** Whether the entry waits: there is a handover. */
  queue(entry: Entry): boolean {
    if (this.#timer) this.#queued.push(entry);
    return this.#timer !== undefined;
  }

  end(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const entry of this.#queued.splice(0)) this.#take(entry);
  }
}
