import { describe, expect, it } from 'vitest';
import { removeSubscription } from '../../../src/control/operations/clear-address.ts';
import type { OperationContext } from '../../../src/control/operations/operation.ts';
import { createCommandSession } from '../../../src/control/operations/provider-session.ts';
import { leaseOf } from '../../../src/core/lease.ts';
import type { Outcome } from '../../../src/provider/call-provider.ts';
import { DEFAULT_DIALECT } from '../../../src/provider/dialect.ts';
import { judgeStatus } from '../../../src/provider/judge-answer.ts';
import type { ListedItem } from '../../../src/provider/provider-api.ts';
import { systemClock } from '../../../src/runtime/clock.ts';

const answered = (status: number): Outcome => ({
  judgement: judgeStatus(status),
  status,
  body: undefined,
  why: `answered ${status}`,
  retryAfterMs: null,
});
const listed = (id: string, isActive = true): ListedItem => ({ id, url: null, events: null, isActive });

/** Removes "x" of a provider whose answers and lists come in turn; and what was asked. */
async function remove(statuses: number[], lists: ListedItem[][]) {
  const asked: string[] = [];
  const session = createCommandSession({
    call: () => expect.fail('the API is scripted'),
    dialect: DEFAULT_DIALECT,
    deadlineMs: 60_000,
    clock: { ...systemClock, sleep: async () => {} },
    lease: leaseOf(new AbortController().signal),
  });
  const api = {
    async remove() {
      asked.push('remove');
      return answered(statuses.shift() ?? expect.fail('one removal too many'));
    },
    async list() {
      asked.push('list');
      return { ...answered(200), items: lists.shift() ?? expect.fail('one list too many') };
    },
  };
  const context = {
    session: { ...session, api },
    command: { ref: 'a' },
    subscriptions: { all: () => [] },
  } as unknown as OperationContext;
  const end = await removeSubscription(context, 'x').catch(({ code }) => code);
  return { end, asked };
}

describe('a removal at the provider', () => {
  it('that is answered 404 is believed where the list has others alone, or this one as inactive', async () => {
    for (const list of [[], [listed('y')], [listed('x', false), listed('y')]])
      expect(await remove([404], [list])).toEqual({ end: true, asked: ['remove', 'list'] });
  });

  it('that is answered 404 is made again while the list has it', async () => {
    const { end, asked } = await remove([404, 204], [[listed('x')]]);
    expect([end, asked]).toEqual([false, ['remove', 'list', 'remove']]);
  });

  it('that is answered 410 needs no list', async () => {
    expect(await remove([410], [])).toEqual({ end: true, asked: ['remove'] });
  });

  it('that is refused is refused, unless an earlier one may have had its effect and the list says so', async () => {
    expect(await remove([400], [])).toEqual({ end: 'PROVIDER_REFUSED', asked: ['remove'] });
    expect(await remove([502, 400], [[listed('y')]])).toMatchObject({ end: false });
    expect(await remove([502, 400], [[listed('x')]])).toMatchObject({ end: 'PROVIDER_REFUSED' });
    expect(await remove([429, 400], [])).toMatchObject({ end: 'PROVIDER_REFUSED' });
  });
});
