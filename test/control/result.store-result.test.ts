import { describe, expect, it } from 'vitest';
import type { ControlRecords } from '../../src/control/operations/operation.ts';
import { storeResult } from '../../src/control/result.ts';
import type { CommandResult } from '../../src/core/command.ts';
import { HooklineError } from '../../src/core/errors.ts';
import { leaseOf } from '../../src/core/lease.ts';
import { listResult } from '../support/list-result.ts';

const lease = leaseOf(new AbortController().signal);

const resultOf = (count: number): CommandResult => ({
  ...listResult(count),
  drift: Array.from({ length: count }, (_, n) => ({
    ref: null,
    subscriptionId: `s-${n}`,
    errorCode: 'SUBSCRIPTION_FOREIGN',
    message: 'x',
  })),
});

/** A topic that takes results of so many subscriptions. */
function topicFor(most: number) {
  const stored: CommandResult[] = [];
  const waits: unknown[] = [];
  const storeResult: ControlRecords['storeResult'] = async (result, _, size) => {
    waits.push(size?.isSmallest);
    if ((result.subscriptions?.length ?? 0) > most || (result.drift?.length ?? 0) > most)
      throw new HooklineError('RECORD_TOO_LARGE');
    stored.push(result);
  };
  return { stored, waits, records: { storeResult } };
}

describe('a result', () => {
  it('that fits is stored as it is', async () => {
    const { stored, records } = topicFor(10);
    const result = resultOf(10);
    expect(await storeResult(result, records, lease)).toBe(result);
    expect(stored).toEqual([result]);
  });

  it('with a list that is too large is stored once, with the first of it, and says so', async () => {
    const { stored, records } = topicFor(30);
    const kept = await storeResult(resultOf(100), records, lease);
    expect(stored).toEqual([kept]);
    expect(kept.subscriptions?.map(({ subscriptionId }) => subscriptionId)).toEqual(
      Array.from({ length: 25 }, (_, n) => `s-${n}`),
    );
    expect(kept).toMatchObject({
      status: 'SUCCEEDED',
      message: '100 listed (the list is cut to 25: it is larger than the results topic takes)',
    });
  });

  it('whose drift alone is too large is cut as well', async () => {
    const { records } = topicFor(30);
    const kept = await storeResult({ ...resultOf(100), subscriptions: [] }, records, lease);
    expect(kept.drift).toHaveLength(25);
  });

  it('is stored without its list where not even one fits', async () => {
    const { waits, records } = topicFor(0);
    expect((await storeResult(resultOf(3), records, lease)).subscriptions).toEqual([]);
    // What fits in no form waits there: the command does not come again and again.
    expect(waits).toEqual([false, false, true]);
  });

  it.each([
    ['too large without a list', { ...resultOf(0), subscriptions: null, drift: null }, 'RECORD_TOO_LARGE'],
    ['not stored for another reason', resultOf(4), 'PUBLISHER_CLOSED'],
  ] as const)('that is %s is not cut: whoever asked hears of it', async (_, result, code) => {
    const tried: unknown[] = [];
    const records = {
      storeResult: async (given: CommandResult) => {
        tried.push(given);
        throw new HooklineError(code);
      },
    };
    await expect(storeResult(result, records, lease)).rejects.toMatchObject({ code });
    expect(tried).toEqual([result]);
  });
});
