import type { Plan } from './plan.ts';

/** Whether a plan still breaks a promise. */
export type IsBroken = (plan: Plan) => Promise<boolean>;

/** Tries of a shorter plan, at the most. */
const MAX_TRIES = 400;

/**
 * The shortest plan found that still breaks a promise: faults and webhooks are left out, halves first, then single ones.
 * What is left is what matters.
 */
export async function shrink(plan: Plan, isBroken: IsBroken): Promise<Plan> {
  let left = MAX_TRIES;
  const tries: IsBroken = async (candidate) => left-- > 0 && isBroken(candidate);
  let best = plan;
  for (let before = ''; before !== sizeOf(best); ) {
    before = sizeOf(best);
    const faults = await shorten(best.faults, (some) => tries({ ...best, faults: some }));
    best = { ...best, faults };
    const webhooks = await shorten(best.webhooks, (some) => tries({ ...best, webhooks: some }));
    best = { ...best, webhooks };
  }
  return best;
}

const sizeOf = ({ faults, webhooks }: Plan) => `${faults.length}/${webhooks.length}`;

async function shorten<T>(
  items: readonly T[],
  isEnough: (items: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  let kept = items;
  for (let size = Math.ceil(items.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < kept.length; ) {
      const without = [...kept.slice(0, at), ...kept.slice(at + size)];
      if (await isEnough(without)) kept = without;
      else at += size;
    }
  }
  return kept;
}
