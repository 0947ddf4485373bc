import { expect, it } from 'vitest';
import { makePlan } from '../../../src/cli/subscriptions/make-plan.ts';

type Channel = Parameters<typeof makePlan>[1];
type PlanShell = Parameters<typeof makePlan>[0];

it.each(['payments.payment-status', 'payments.subscriptions'])(
  'a file whose topic is one that Hookline writes, %s, is refused before anything is sent there',
  async (topic) => {
    const sent: string[] = [];
    const channel = {
      config: { topics: { prefix: 'payments' }, schemas: { dir: undefined } },
      results: { of: async () => ({ status: 'SUCCEEDED' }) },
      send: async (to: string) => void sent.push(to),
    } as unknown as Channel;
    const how = { refresh: true, timeoutMs: 1_000, commandTopics: [] };
    const planned = makePlan({} as PlanShell, channel, { topic, subscriptions: [] }, how);
    await expect(planned).rejects.toThrow(`the file's topic is ${topic}, which Hookline writes`);
    expect(sent).toEqual([]);
  },
);
