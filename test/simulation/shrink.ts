/** Tries of a shorter plan, at the most. */
const MAX_TRIES = 400;

/** A schedule's plan, whose lists under these keys can be shortened. */
type Listed<K extends string> = { readonly [Key in K]: readonly unknown[] };

/**
 * The shortest plan found that still breaks a promise: of each of its lists items are left out, halves first, then single ones.
 * What is left is what matters.
 */
export async function shrink<K extends string, P extends Listed<K>>(
  plan: P,
  keys: readonly K[],
  isBroken: (plan: P) => Promise<boolean>,
): Promise<P> {
  let left = MAX_TRIES;
  const tries = async (candidate: P) => left-- > 0 && isBroken(candidate);
  const sizeOf = (one: P) => keys.map((key) => one[key].length).join('/');
  let best = plan;
  for (let before = ''; before !== sizeOf(best); ) {
    before = sizeOf(best);
    for (const key of keys) {
      const items = await shorten(best[key], (some) => tries({ ...best, [key]: some }));
      best = { ...best, [key]: items };
    }
  }
  return best;
}

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
