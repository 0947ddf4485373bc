/** A moment in what a process does: before its nth request of a kind passes, or after it was answered. */
export type Point = { readonly name: string; readonly nth: number; readonly side: 'before' | 'after' };

/**
 * Every request of the process under test to Kafka and to the provider passes here, and so does every answer. A
 * process that waits for I/O waits at one of these points: whoever ends it at each of them has ended it at every await
 * that can last, and no line of it knows of that.
 */
export class Gate {
  readonly #counts = new Map<string, number>();
  #seen: Point[] = [];
  #armed: { readonly point: Point; readonly act: () => void; readonly shuts: boolean } | undefined;
  #isShut = false;
  #keepsAt: Point | undefined;
  /** Requests that were kept back, as they came. */
  readonly kept: Buffer[] = [];

  /** Counts begin anew; what passes from now on is told by `seen`. */
  open(): void {
    this.#counts.clear();
    this.#seen = [];
    this.#armed = undefined;
    this.#isShut = false;
  }

  /** Ends the process at this point; then nothing passes until the gate is opened. */
  arm(point: Point, kill: () => void): void {
    this.open();
    this.#armed = { point, act: kill, shuts: true };
  }

  /** Does something at this point, before what passes there goes on. */
  at(point: Point, act: () => void): void {
    this.open();
    this.#armed = { point, act, shuts: false };
  }

  /** Keeps the request of this point back, as a network may, and does something at once. */
  keepAt(point: Omit<Point, 'side'>, act: () => void): void {
    this.at({ ...point, side: 'before' }, act);
    this.#keepsAt = { ...point, side: 'before' };
  }

  keeps(name: string, nth: number, request: Buffer): boolean {
    if (this.#keepsAt?.name !== name || this.#keepsAt.nth !== nth) return false;
    this.#keepsAt = undefined;
    this.kept.push(request);
    return true;
  }

  get isShut(): boolean {
    return this.#isShut;
  }

  get seen(): readonly Point[] {
    return this.#seen;
  }

  /** @returns which request of its kind it is, or null where it doesn't pass */
  before(name: string): number | null {
    const nth = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, nth);
    return this.#pass({ name, nth, side: 'before' }) ? nth : null;
  }

  /** @returns whether the answer passes */
  after(name: string, nth: number): boolean {
    return this.#pass({ name, nth, side: 'after' });
  }

  #pass(point: Point): boolean {
    if (this.#isShut) return false;
    this.#seen.push(point);
    const { name, nth, side } = this.#armed?.point ?? {};
    if (name !== point.name || nth !== point.nth || side !== point.side) return true;
    this.#isShut = this.#armed?.shuts ?? false;
    this.#armed?.act();
    return !this.#isShut;
  }
}

export const nameOf = ({ name, nth, side }: Point): string => `${side} ${name}${nth > 1 ? ` (${nth})` : ''}`;
