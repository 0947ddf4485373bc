import type { Difference } from './difference.ts';

type Explanation = {
  readonly path: RegExp;
  /** What the difference must look like; without it anything at the path. */
  readonly isSo?: (difference: Difference) => boolean;
  readonly why: string;
};

/** Differences that are right to have: nothing that a client of ours decides hangs on them. */
const EXPLAINED: readonly Explanation[] = [];

/** Why a difference is none that matters; undefined where it does. */
export const explain = (difference: Difference): string | undefined =>
  EXPLAINED.find(({ path, isSo }) => path.test(difference.path) && (isSo?.(difference) ?? true))?.why;
