import type { Target } from '../wire/target.ts';
import type { Fault } from './plan.ts';

/** Brokers in one of the two targets, and what can be done to them. */
export type Site = {
  readonly target: Target;
  begin(fault: Fault): Promise<void>;
  /** Ends it: what was killed starts again, what was frozen goes on. @returns whether that is done */
  end(fault: Fault): () => boolean;
};
