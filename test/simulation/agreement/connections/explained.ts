import { type Difference, isOtherLeader } from './difference.ts';

type Explanation = {
  readonly path: RegExp;
  /** What the difference must look like; without it anything at the path. */
  readonly isSo?: (difference: Difference) => boolean;
  readonly why: string;
};

/** Differences that are right to have: nothing that a client of ours decides hangs on them. */
const EXPLAINED: readonly Explanation[] = [
  {
    path: /\.(brokers\.\d+|coordinator)\.(host|port)$|\.clusterId$/,
    why: "addresses and the cluster id are each one's own",
  },
  {
    path: /\.sessionId$/,
    why: 'the model offers no fetch sessions: each request says all that it wants',
  },
  {
    path: /^fetch that waits .*\.(highWatermark|lastStableOffset)$/,
    isSo: ({ kafka, model }) => Number.parseInt(`${kafka}`, 10) + 1 === Number.parseInt(`${model}`, 10),
    why: 'a broker notes its high watermark before it reads the records, and one came in between',
  },
  {
    path: /^join .*\.leaderId$/,
    isSo: isOtherLeader,
    why: 'where a leader has left, a broker takes any member, and the model the one that joined first: the group is not compared further',
  },
];

/** Why a difference is none that matters; undefined where it does. */
export const explain = (difference: Difference): string | undefined =>
  EXPLAINED.find(({ path, isSo }) => path.test(difference.path) && (isSo?.(difference) ?? true))?.why;
