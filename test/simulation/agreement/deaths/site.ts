import type { World } from '../wire/world.ts';
import type { Fault } from './plan.ts';

/** Brokers in one of the two worlds, and what can be done to them. */
export type Site = {
  readonly world: World;
  begin(fault: Fault): Promise<void>;
  /** Ends it: what was killed starts again, what was frozen goes on. @returns whether that is done */
  end(fault: Fault): () => boolean;
};
