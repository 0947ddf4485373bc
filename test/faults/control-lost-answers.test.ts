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
  it.each(LOST)('%s', async (_, fault) => {
    const begun = cases.map((of) => ({ of, ref: `lost-${kit.newId()}`, commandId: kit.newId() }));
    const onSubscription = begun.filter(({ of }) => of.onSubscription);
    for (const { ref } of onSubscription) {
      const command = { commandId: `before-${ref}`, type: 'subscription.create', ref };
      await kit.send({ ...command, events: ['payment-status'] });
    }
    await kit.settled(onSubscription.map(({ ref }) => `before-${ref}`));
    const commands: Record<string, unknown>[] = [];
    for (const { of, ref, commandId } of begun)
      commands.push({ commandId, ref, ...of.command, ...(await of.prepare?.(kit, ref)) });
    await kit.sandbox.fail(
      ...cases.map(({ name }) => ({ operation: OPERATIONS[name] ?? name, times: 1, ...fault })),
    );
    for (const command of commands) await kit.send(command);
    await kit.settled(
      begun.map(({ commandId }) => commandId),
      200_000,
    );
    const { json: left } = await kit.sandbox.call('GET', '/_sandbox/faults');
    expect(left.filter(({ remaining }: { remaining: number }) => remaining > 0)).toEqual([]);
    const wrong: string[] = [];
    for (const { of, ...which } of begun)
      wrong.push(...(await judge(kit, of, which)).wrong.map((what) => `${of.name}: ${what}`));
    expect(wrong).toEqual([]);
  });
});
