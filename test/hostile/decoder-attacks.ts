import type { Brokers } from '../support/topics-fixture.ts';
import type { Row } from './attack.ts';
import { attackControl } from './commands.ts';
import type { ControlRow } from './control-target.ts';
import { runFuzz } from './fuzz/run-fuzz.ts';
import { attackByProvider } from './provider.ts';

type Parts = {
  readonly stack: Brokers;
  readonly seed: number;
  readonly fuzzCases: number;
  readonly say: (line: string) => void;
};

/** An attack beside which no webhooks are sent: on control, or on decoders alone. */
export type DecoderAttack = { readonly name: string; run(parts: Parts): Promise<Row[]> };

const MUTATIONS = 100_000;

const rowOf = (name: string, { attack, outcome, peakMemoryMiB, ok }: ControlRow): Row => ({
  name,
  what: attack,
  honest: null,
  peakMib: peakMemoryMiB,
  note: outcome,
  problems: ok ? [] : [outcome],
  seconds: 0,
});

export const DECODER_ATTACKS: readonly DecoderAttack[] = [
  {
    name: 'commands',
    async run({ stack, seed, say }) {
      const rows = await attackControl({ stack, seed, mutations: MUTATIONS, log: say });
      return rows.map((row) => rowOf('commands', row));
    },
  },
  {
    name: 'provider',
    async run({ stack, say }) {
      const rows = await attackByProvider({ stack, log: say });
      return rows.map((row) => rowOf('provider', row));
    },
  },
  {
    name: 'fuzz',
    async run({ seed, fuzzCases, say }) {
      const began = performance.now();
      const decoders = await runFuzz({ seed, cases: fuzzCases, log: say });
      const cases = decoders.reduce((sum, one) => sum + one.cases, 0);
      const what = `${cases.toLocaleString('en')} random inputs for ${decoders.length} decoders (seed ${seed})`;
      const problems = decoders.flatMap(({ decoder, failed }) =>
        failed === null ? [] : [`${decoder}: ${failed}`],
      );
      const seconds = (performance.now() - began) / 1_000;
      return [{ name: 'fuzz', what, honest: null, peakMib: null, note: '', problems, seconds }];
    },
  },
];
