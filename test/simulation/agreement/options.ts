import { parseArgs } from 'node:util';

export type Options = {
  /** Schedules with faults of connections. */
  readonly seeds: number;
  /** Schedules with deaths of brokers. */
  readonly brokerDeaths: number;
  /** Of the first schedule; the next has one more. */
  readonly seed: number;
};

export const USAGE = `usage: make simulate-agreement ARGS="[--seeds N] [--broker-deaths N] [--seed S]"
  --seeds N          schedules with faults of connections, on one broker (1000)
  --broker-deaths N  schedules in which brokers are killed and frozen, on three (30)
  --seed S           the first schedule's seed, the next has S + 1 (1)`;

/** @throws TypeError where an option is unknown or no number */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: { type: 'string', default: '1000' },
      'broker-deaths': { type: 'string', default: '30' },
      seed: { type: 'string', default: '1' },
    },
  });
  const number = (name: 'seeds' | 'broker-deaths' | 'seed') => {
    const value = Number(values[name]);
    if (!Number.isSafeInteger(value) || value < 0 || values[name] === '')
      throw new TypeError(`--${name} is not a whole number: ${values[name]}`);
    return value;
  };
  return { seeds: number('seeds'), brokerDeaths: number('broker-deaths'), seed: number('seed') };
}
