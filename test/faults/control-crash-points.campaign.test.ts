import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { CASES } from './control/cases.ts';
import { type ControlKit, openControlKit } from './control/control-kit.ts';
import { CrashPoints, type Row } from './control/crash-points.ts';

/** The short form of `make control-faults`: the points between which an effect would be lost or had twice. */
const SAMPLE = ['after POST /subscriptions', 'after DELETE /subscription', 'after Produce command-results'];
let kit: ControlKit;
let crashes: CrashPoints;

beforeAll(async () => {
  kit = await openControlKit({ registryUrl: inject('registryUrl') });
  crashes = new CrashPoints(kit);
});

afterAll(async () => {
  await crashes?.[Symbol.asyncDispose]();
  await kit?.[Symbol.asyncDispose]();
});

const isSample = ({ name, side, nth }: { name: string; side: string; nth: number }) =>
  SAMPLE.includes(`${side} ${name}`) && nth === 1;

it.each(CASES.filter(({ name }) => name === 'create' || name === 'delete'))(
  'a control process that is killed leaves one truthful result, and a true state: $name',
  async (one) => {
    const rows: Row[] = await crashes.run(one, isSample, () => {});
    expect(rows.flatMap(({ wrong }) => wrong)).toEqual([]);
    expect(rows.map(({ point }) => point)).toHaveLength(2);
  },
);
