import { describe, expect, it } from 'vitest';
import { askProvider } from '../../../src/cli/subscriptions/read-present.ts';

const drift = (subscriptionId: string, errorCode = 'SUBSCRIPTION_MISSING') => {
  return { ref: `ref-${subscriptionId}`, subscriptionId, errorCode, message: '' };
};
const listed = (...found: ReturnType<typeof drift>[]) => {
  return { status: 'SUCCEEDED', drift: found, subscriptions: [{}] };
};

/** What becomes known, and how often a list was asked for, where control answers the lists so. */
async function asked(...answers: Record<string, unknown>[]) {
  let sent = 0;
  const results = { of: async () => answers[sent] ?? {} };
  const send = async () => {
    sent++;
  };
  const seen = await askProvider({ results, send }, 'commands', 1_000);
  return { sent, listsNone: seen.listsNone, ids: seen.drift.map(({ subscriptionId }) => subscriptionId) };
}

describe('what the provider has', () => {
  it('is asked for once where nothing is missing', async () => {
    const changed = drift('a', 'SUBSCRIPTION_CHANGED');
    expect(await asked(listed(changed))).toEqual({ sent: 1, listsNone: false, ids: ['a'] });
  });

  it('is asked for again where something is missing, and both lists must miss it', async () => {
    const first = listed(drift('a'), drift('b'));
    const second = listed(drift('b'), drift('c'), drift('d', 'SUBSCRIPTION_DISABLED'));
    expect(await asked(first, second)).toEqual({ sent: 2, listsNone: false, ids: ['b', 'd'] });
  });

  it('is nothing where the last list is empty', async () => {
    const empty = { ...listed(drift('a')), subscriptions: [] };
    expect(await asked(empty, empty)).toEqual({ sent: 2, listsNone: true, ids: ['a'] });
  });

  it('is not known where control cannot list it', async () => {
    const failed = { status: 'FAILED', message: 'the provider is down' };
    await expect(asked(failed)).rejects.toThrow(
      "control could not list the provider's subscriptions: the provider is down (--no-refresh compares",
    );
    await expect(asked(listed(drift('a')), failed)).rejects.toThrow('the provider is down');
  });
});
