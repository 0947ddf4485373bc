import { parseArgs } from 'node:util';
import { wholeNumber } from '../../src/cli/shell/option-values.ts';
import { FLEET_SCHEDULES, type FleetSchedule } from './fleet/run-fleet.ts';
import { SCHEDULES, type Schedule } from './schedule/schedules.ts';
import { SYSTEMS, type SystemKind } from './system/system.ts';

export type Options = {
  readonly seed: number;
  readonly scale: number;
  readonly schedules: readonly Schedule[];
  /** What is done to the ingress processes; with Hookline alone. */
  readonly fleets: readonly FleetSchedule[];
  readonly kinds: readonly SystemKind[];
  /** Events under way at once, where a schedule gives no rate. */
  readonly entities: number;
};

export const USAGE = `make faults ARGS="[--seed N] [--schedule NAME]... [--scale 0.2] [--system NAME]... [--entities N]"
schedules: ${[...SCHEDULES, ...FLEET_SCHEDULES].map(({ name }) => name).join(', ')}
systems: ${Object.keys(SYSTEMS).join(', ')}`;

/** @throws Error in words, for whoever typed it */
export function parseOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      seed: { type: 'string' },
      scale: { type: 'string', default: '1' },
      schedule: { type: 'string', multiple: true, default: [] },
      system: { type: 'string', multiple: true, default: ['hookline', 'naive'] },
      entities: { type: 'string', default: '480' },
    },
  });
  const seed =
    values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : wholeNumber('--seed', values.seed);
  const scale = Number(values.scale);
  if (!(scale > 0)) throw new Error(`--scale is ${values.scale}: give a number above 0.`);
  const isAsked = ({ name }: { name: string }) => values.schedule.includes(name);
  const known = [...SCHEDULES, ...FLEET_SCHEDULES];
  for (const name of values.schedule) {
    if (!known.some((one) => one.name === name)) throw new Error(`--schedule ${name}: there is none such.`);
  }
  const chosen = values.schedule.length > 0;
  return {
    seed,
    scale,
    schedules: chosen ? SCHEDULES.filter(isAsked) : SCHEDULES,
    fleets: chosen ? FLEET_SCHEDULES.filter(isAsked) : FLEET_SCHEDULES,
    kinds: values.system.map(systemNamed),
    entities: wholeNumber('--entities', values.entities),
  };
}

function systemNamed(name: string): SystemKind {
  if (!Object.hasOwn(SYSTEMS, name)) {
    throw new Error(`--system ${name}: there are ${Object.keys(SYSTEMS).join(', ')}.`);
  }
  return name as SystemKind;
}
