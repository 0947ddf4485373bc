import { parseArgs } from 'node:util';
import { wholeNumber } from '../../src/cli/shell/option-values.ts';
import { type Attack, LONG, type Scale, SHORT } from './attack.ts';
import { ATTACKS } from './campaign.ts';
import { DECODER_ATTACKS, type DecoderAttack } from './decoder-attacks.ts';

export type Options = {
  readonly attacks: readonly Attack[];
  readonly decoderAttacks: readonly DecoderAttack[];
  readonly scale: Scale;
  readonly seed: number;
  /** Inputs of all decoders together. */
  readonly fuzzCases: number;
  /** A file for the table; undefined prints it only. */
  readonly out: string | undefined;
};

const DEFAULT_FUZZ_CASES = '1000000';

export const USAGE = `make hostile ARGS="[--only NAME]... [--seconds 20] [--short] [--seed N] [--fuzz ${DEFAULT_FUZZ_CASES}] [--out FILE]"
attacks: ${[...ATTACKS, ...DECODER_ATTACKS].map(({ name }) => name).join(', ')}
--only also takes the beginning of names, such as idle- or slow-; --short takes fewer connections and seconds;
--out writes the table as Markdown`;

/** @throws Error in words, for whoever typed it */
export function parseOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string', multiple: true, default: [] },
      seconds: { type: 'string' },
      short: { type: 'boolean', default: false },
      seed: { type: 'string' },
      fuzz: { type: 'string', default: DEFAULT_FUZZ_CASES },
      out: { type: 'string' },
    },
  });
  const scale = values.short ? SHORT : LONG;
  const { only } = values;
  for (const name of only) {
    if (![...ATTACKS, ...DECODER_ATTACKS].some((attack) => attack.name.startsWith(name))) {
      throw new Error(`--only ${name}: there is no such attack.`);
    }
  }
  const seed =
    values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : wholeNumber('--seed', values.seed);
  const isAsked = ({ name }: { name: string }) =>
    only.length === 0 || only.some((one) => name.startsWith(one));
  return {
    attacks: ATTACKS.filter(isAsked),
    decoderAttacks: DECODER_ATTACKS.filter(isAsked),
    scale: {
      ...scale,
      ...(values.seconds && { seconds: wholeNumber('--seconds', values.seconds, { min: 1 }) }),
    },
    seed,
    fuzzCases: wholeNumber('--fuzz', values.fuzz),
    out: values.out,
  };
}
