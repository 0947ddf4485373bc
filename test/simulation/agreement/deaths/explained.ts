/** What real brokers answer in a situation and the model does not, and why that is right to have. */
const EXPLAINED: readonly { readonly fact: RegExp; readonly why: string }[] = [
  {
    fact: /: coordinator silent$/,
    why: 'a coordinator answers a commit when all in-sync replicas have it; the model commits at once, and has late and lost answers of groups as faults of their own',
  },
  {
    fact: /: find coordinator 15$/,
    why: 'brokers make the topic of the offsets when they are asked for the first time; the model has it from the beginning',
  },
  {
    fact: /^freeze \d: find coordinator silent$/,
    why: 'the machine of a frozen broker takes connections, and the model takes none until it goes on: the client gives up the connection instead of the request',
  },
  {
    fact: /^whole: (fetch 6|produce 6, not stored)$/,
    why: 'the topic has just been made, and one broker tells the client of its leader before that one knows; the model has it from the beginning',
  },
  {
    fact: /^whole: produce 7, (not )?stored$/,
    why: 'a broker that has just started again, in the schedule before, takes longer than the second that the producer allows',
  },
];

/** Why it is right that the model never answers this; undefined where it is not. */
export const explain = (fact: string): string | undefined =>
  EXPLAINED.find((one) => one.fact.test(fact))?.why;
