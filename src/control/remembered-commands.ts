import type { CommandPosition } from '../core/command.ts';

/** Ids that are remembered; those that finished first are forgotten first. */
const MAX_REMEMBERED = 200_000;
/** To forget takes a sort: it waits for so many more. */
const SLACK = 20_000;

/** The first result of each id, the latest ones: brokers are read side by side, so that much older ones can come behind them. */
export class RememberedCommands {
  readonly #max: number;
  readonly #slack: number;
  readonly #known = new Map<string, CommandPosition & { readonly finishedAt: number }>();

  constructor({ max = MAX_REMEMBERED, slack = SLACK }: { max?: number; slack?: number } = {}) {
    this.#max = max;
    this.#slack = slack;
  }

  add(commandId: string, position: CommandPosition, finishedAt: number): void {
    if (this.#known.has(commandId)) return;
    this.#known.set(commandId, { ...position, finishedAt });
    if (this.#known.size <= this.#max + this.#slack) return;
    const times = Float64Array.from(this.#known.values(), ({ finishedAt: time }) => time).sort();
    const newest = times[times.length - this.#max] ?? 0;
    for (const [id, { finishedAt: time }] of this.#known) if (time < newest) this.#known.delete(id);
    for (const id of this.#known.keys()) {
      if (this.#known.size <= this.#max) break;
      this.#known.delete(id);
    }
  }

  positionOf = (commandId: string): CommandPosition | undefined => this.#known.get(commandId);
}
