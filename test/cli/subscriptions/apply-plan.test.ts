import { describe, expect, it } from 'vitest';
import type { Shell } from '../../../src/cli/shell/shell.ts';
import { applyPlan } from '../../../src/cli/subscriptions/apply-plan.ts';
import { type Plan, planChanges } from '../../../src/cli/subscriptions/plan.ts';
import { DEFAULT_DIALECT } from '../../../src/provider/dialect.ts';

const wanted = (ref: string) => ({ ref, events: ['payment-status'], adopt: false, extra: {}, at: '' });

const plan: Plan = planChanges({ topic: undefined, subscriptions: [wanted('a'), wanted('b')] }, 'commands', {
  records: [],
  drift: [],
  listsNone: true,
  dialect: DEFAULT_DIALECT,
});

/** A control that answers each command as `answer` says, by its ref. */
async function applied(answer: (ref: string) => Promise<Record<string, unknown>>) {
  const notes: string[] = [];
  const sent: { topic: string; refs: (string | undefined)[] }[] = [];
  const answers = new Map<string, PromiseWithResolvers<Record<string, unknown>>>();
  const result = await applyPlan(
    { note: (line) => notes.push(line) } as Pick<Shell, 'note'> as Shell,
    {
      results: {
        of(commandId) {
          const one = Promise.withResolvers<Record<string, unknown>>();
          answers.set(commandId, one);
          return one.promise;
        },
      },
      async send(topic, commands) {
        sent.push({ topic, refs: commands.map(({ ref }) => ref) });
        for (const { commandId, ref = '' } of commands) answers.get(commandId)?.resolve(answer(ref));
      },
    },
    plan,
    60_000,
  );
  return { result, notes, sent };
}

describe('a plan that is applied', () => {
  it('is sent at once, and each result is printed as it arrives', async () => {
    const { result, notes, sent } = await applied(async (ref) => ({
      status: 'SUCCEEDED',
      errorCode: null,
      message: 'created',
      subscriptionId: `id-${ref}`,
    }));
    expect(sent).toEqual([{ topic: 'commands', refs: ['a', 'b'] }]);
    expect(result).toMatchObject([
      { ref: 'a', type: 'subscription.create', status: 'SUCCEEDED', subscriptionId: 'id-a' },
      { ref: 'b', status: 'SUCCEEDED' },
    ]);
    expect(notes).toEqual([
      '2 command(s) sent to commands, waiting for the results ...',
      expect.stringMatching(/^a: SUCCEEDED, created \(\d+\.\d s\)$/),
      expect.stringMatching(/^b: SUCCEEDED, created/),
    ]);
  });

  it('reports each outcome: a rejected command, and one without a result', async () => {
    const { result, notes } = await applied(async (ref) => {
      if (ref === 'b') throw new Error('no result within 60 s');
      return { status: 'REJECTED', errorCode: 'URL_IN_USE', message: 'adopt it' };
    });
    expect(result).toMatchObject([
      { ref: 'a', status: 'REJECTED', errorCode: 'URL_IN_USE', message: 'adopt it' },
      { ref: 'b', status: null, message: 'no result within 60 s' },
    ]);
    expect(notes.at(-1)).toMatch(/^b: no result, no result within 60 s/);
  });
});
