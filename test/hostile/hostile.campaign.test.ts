import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { SHORT } from './attack.ts';
import { ATTACKS, Campaign } from './campaign.ts';

/** The short form of `make hostile`: fewer connections, for a second each. */
let campaign: Campaign;

beforeAll(async () => {
  campaign = await Campaign.start(inject('stack'), SHORT);
});

afterAll(() => campaign?.[Symbol.asyncDispose]());

describe('honest senders are not disturbed by', { timeout: 120_000 }, () => {
  it.each(ATTACKS.filter(({ short }) => short))('$what', async (attack) => {
    const { problems } = await campaign.run(attack);
    // A text: a report that is cut short tells what was wrong, too.
    expect(problems.join('; ')).toBe('');
  });

  it('anything: what was answered 200 is in its topic', async () => {
    const { taken, held } = await campaign.stored();
    expect(taken).toBeGreaterThan(0);
    expect(held).toBeGreaterThanOrEqual(taken);
  });
});
