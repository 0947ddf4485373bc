import { parseArgs } from 'node:util';
import { wholeNumber } from '../../src/cli/shell/option-values.ts';
import { FORMS, type Form } from './load/bodies.ts';
import { SYSTEM_NAMES, type SystemName } from './systems.ts';

export type Options = {
  readonly rounds: number;
  /** Of one measurement. */
  readonly seconds: number;
  readonly connections: readonly number[];
  readonly forms: readonly Form[];
  readonly systems: readonly SystemName[];
  /** Another checkout, whose Hookline is measured beside this one's. */
  readonly against: string | undefined;
  /** Steady rates to measure latencies at, in percent of Hookline's capacity; none without vegeta. */
  readonly rates: readonly number[];
  /** Beside a process that keeps a core busy, as on a machine that others use too. */
  readonly busyCore: boolean;
  /** Folder for a CPU profile of each Hookline; undefined takes none, as profiling costs. */
  readonly profileDir: string | undefined;
};

export const USAGE = `make bench ARGS="[--rounds 3] [--seconds 10] [--connections 64,128,256] [--form plain,sealed]
  [--system ${SYSTEM_NAMES.join(',')}] [--rates 30,60,90] [--busy-core]
  [--against DIR] [--profile DIR]"
--rates measures latencies at steady rates, in percent of Hookline's capacity; --busy-core keeps one core busy meanwhile
the redpanda systems and --rates need Go, by which Redpanda Connect and vegeta are built once
--against measures the Hookline of another checkout too; --profile writes .cpuprofile files, which
  node test/bench/profile/main.ts FILE sums up by package`;

/** @throws Error in words, for whoever typed it */
export function parseOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '10' },
      connections: { type: 'string', default: '64,128,256' },
      form: { type: 'string', default: FORMS.join(',') },
      system: { type: 'string', default: 'floor,naive,hookline' },
      rates: { type: 'string' },
      'busy-core': { type: 'boolean', default: false },
      against: { type: 'string' },
      profile: { type: 'string' },
    },
  });
  return {
    rounds: wholeNumber('--rounds', values.rounds, { min: 1 }),
    seconds: wholeNumber('--seconds', values.seconds, { min: 1 }),
    connections: values.connections.split(',').map((text) => wholeNumber('--connections', text, { min: 1 })),
    forms: values.form.split(',').map((text) => oneOf('--form', text, FORMS)),
    systems: values.system.split(',').map((text) => oneOf('--system', text, SYSTEM_NAMES)),
    rates: values.rates?.split(',').map((text) => wholeNumber('--rates', text, { min: 1 })) ?? [],
    busyCore: values['busy-core'],
    against: values.against,
    profileDir: values.profile,
  };
}

function oneOf<T extends string>(option: string, text: string, known: readonly T[]): T {
  const found = known.find((one) => one === text);
  if (found === undefined) throw new Error(`${option} ${text}: there are ${known.join(', ')}.`);
  return found;
}
