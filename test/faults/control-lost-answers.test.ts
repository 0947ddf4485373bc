import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningProcess } from '../support/running-process.ts';
import { CASES, judge } from './control/cases.ts';
import { type ControlKit, openControlKit } from './control/control-kit.ts';

let kit: ControlKit;
let control: RunningProcess;

beforeAll(async () => {
  kit = await openControlKit();
  control = kit.start();
  await control.logged('reading commands');
});

afterAll(async () => {
  await control?.stop();
  await kit?.[Symbol.asyncDispose]();
});

/** The request that a type of command lives by. */
const OPERATIONS: Record<string, string> = { adopt: 'update' };
const LOST = [
  ['the connection is cut before the effect', { kind: 'drop-before' }],
  ['the answer is lost after the effect', { kind: 'drop-after' }],
  ['500 after the effect', { kind: 'status', code: 500, effect: true }],
  ['503 without the effect', { kind: 'status', code: 503 }],
  ['429', { kind: 'status', code: 429, headers: { 'retry-after': '1' } }],
  ['half of the answer', { kind: 'truncated-body' }],
  ['no answer within the time-out, after the effect', { kind: 'hang', effect: true }],
] as const;

const cases = CASES.filter(({ faults }) => !faults);

describe('one result and a true state, whatever becomes of the answers:', () => {
  // One after the other: a fault hits the first request of its operation.
  it.each(LOST)('%s', async (_, fault) => {
    const begun: { of: (typeof cases)[number]; ref: string; commandId: string }[] = [];
    for (const one of cases) {
      const ref = `lost-${kit.newId()}`;
      const commandId = kit.newId();
      if (one.onSubscription) {
        await kit.send({
          commandId: `before-${ref}`,
          type: 'subscription.create',
          ref,
          events: ['payment-status'],
        });
        await kit.settled([`before-${ref}`], 150_000);
      }
      const more = (await one.prepare?.(kit, ref)) ?? {};
      await kit.sandbox.fail({ operation: OPERATIONS[one.name] ?? one.name, times: 1, ...fault });
      await kit.send({ commandId, ref, ...one.command, ...more });
      begun.push({ of: one, ref, commandId });
      await kit.settled([commandId], 150_000);
    }
    const wrong: string[] = [];
    for (const { of, ...which } of begun)
      wrong.push(...(await judge(kit, of, which)).wrong.map((what) => `${of.name}: ${what}`));
    expect(wrong).toEqual([]);
  });
});
