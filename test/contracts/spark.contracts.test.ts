import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Datacontract, faultsOf, openDatacontractOnSpark, passedOf } from './support/datacontract.ts';
import { PublishedTopics } from './support/published-topics.ts';
import { contractFor } from './support/topic-contract.ts';

let datacontract: Datacontract;
let topics: PublishedTopics;

beforeAll(async () => {
  datacontract = await openDatacontractOnSpark();
  topics = await PublishedTopics.make(inject('stack'));
}, 20 * 60_000);

afterAll(() => topics?.[Symbol.asyncDispose]());

const judge = (topic: string, options: { physicalName?: string; text?: (yaml: string) => string } = {}) =>
  datacontract.test(contractFor(topics.fixture, topic, { ...options, isHostLiteral: true }), {
    brokers: inject('brokers').join(),
    registryUrl: inject('registryUrl'),
  });

/** Of the fields at the root: this version checks no others. */
const MIN_CHECKS: Readonly<Record<string, number>> = {
  'payment-status': 20,
  'accounts-entries': 17,
  'collection-status': 17,
  unclassified: 14,
  commands: 14,
  'command-results': 25,
};

describe('read by Spark', () => {
  it.each(Object.entries(MIN_CHECKS))('%s is as its contract says', async (topic, atLeast) => {
    const judgement = await judge(topic);
    const warnings = topic === 'unclassified' ? [expect.stringMatching(/^warning: .*entityId/)] : [];
    expect(faultsOf(judgement), judgement.output).toEqual(warnings);
    expect(passedOf(judgement).length).toBeGreaterThanOrEqual(atLeast);
  });

  it('the states of subscriptions are as their contract says', async () => {
    // It takes a null value for a record without any field.
    const physicalName = await topics.copyStates({ forgotten: 0 });
    const judgement = await judge('subscriptions', { physicalName });
    expect(faultsOf(judgement), judgement.output).toEqual([]);
  });

  it('a repeat and a field that is not there do not keep a contract that asks for them', async () => {
    const text = (yaml: string) =>
      yaml
        .replace('      - name: eventId\n', '      - name: eventId\n        unique: true\n')
        .replace('      - name: status\n', '      - name: state\n');
    const judgement = await judge('payment-status', { text });
    expect(faultsOf(judgement), judgement.output).toEqual([
      'failed: Check that unique field eventId has no duplicate values',
      "failed: Check that field 'state' is present",
    ]);
    expect(judgement.exitCode).toBe(1);
  });
});
