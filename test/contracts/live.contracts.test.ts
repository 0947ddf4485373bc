import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Datacontract, faultsOf, openDatacontract, passedOf } from './support/datacontract.ts';
import { PublishedTopics, REF } from './support/published-topics.ts';
import { contractFor } from './support/topic-contract.ts';

let datacontract: Datacontract;
let topics: PublishedTopics;

beforeAll(async () => {
  datacontract = await openDatacontract();
  topics = await PublishedTopics.make(inject('stack'));
}, 15 * 60_000);

afterAll(() => topics?.[Symbol.asyncDispose]());

const judge = (file: string) =>
  datacontract.test(file, { brokers: inject('brokers').join(), registryUrl: inject('registryUrl') });

/** Each field at every depth has at least the check that it is there. */
const MIN_CHECKS: Readonly<Record<string, number>> = {
  'payment-status': 45,
  'accounts-entries': 25,
  'collection-status': 25,
  unclassified: 23,
  commands: 18,
  'command-results': 40,
};

describe('what Hookline publishes', () => {
  it.each(Object.entries(MIN_CHECKS))('on %s is as its contract says', async (topic, atLeast) => {
    const judgement = await judge(contractFor(topics.fixture, topic));
    // An event without an entity is allowed, and shown.
    const warnings = topic === 'unclassified' ? [expect.stringMatching(/^warning: .*entityId/)] : [];
    expect(faultsOf(judgement), judgement.output).toEqual(warnings);
    expect(passedOf(judgement).length).toBeGreaterThanOrEqual(atLeast);
    expect(judgement.exitCode).toBe(0);
  });

  it('on subscriptions is as its contract says, but for the claims of control, which are not Avro', async () => {
    const physicalName = await topics.copyStates({ forgotten: 1 });
    const judgement = await judge(contractFor(topics.fixture, 'subscriptions', { physicalName }));
    expect(faultsOf(judgement), judgement.output).toEqual([]);
    expect(passedOf(judgement).length).toBeGreaterThan(15);
    const whole = await judge(contractFor(topics.fixture, 'subscriptions'));
    expect(faultsOf(whole).at(-1), whole.output).toMatch(/^failed: Configuring Kafka checks/);
  });
});

const message = '{"type":"accounts-entries","entityId":"a-1"}';
const event = () => ({
  eventId: randomUUID(),
  type: 'accounts-entries',
  entityId: 'a-1',
  subscription: REF,
  receivedAt: Date.now(),
  source: message as string | null,
  sourceRef: null as object | null,
});
const object = { uri: 's3://events/a', bytes: 44, sha256: '0'.repeat(64), omitted: [] };
const repeated = randomUUID();

/** Records that Hookline does not publish, each with the check that finds it. */
const WRONG: readonly (readonly [string, readonly object[], RegExp])[] = [
  [
    'another message under an event id',
    [
      { ...event(), eventId: repeated },
      { ...event(), eventId: repeated, source: `${message} ` },
    ],
    /^failed: records of one eventId have the same message$/,
  ],
  ['an event id that is no UUID', [{ ...event(), eventId: 'e-1' }], /eventId has invalid_count/],
  ['an event of another type', [{ ...event(), type: 'payment-status' }], /type has invalid_count/],
  ['an event without a type', [{ ...event(), type: null }], /type has missing_count/],
  [
    'an event from the future',
    [{ ...event(), receivedAt: Date.now() + 3_600_000 }],
    /receivedAt is not in the future/,
  ],
  [
    'an event without its message',
    [{ ...event(), source: null }],
    /a record holds its message, or says where/,
  ],
  ['an event that has its message twice', [{ ...event(), sourceRef: object }], /a record holds its message/],
  [
    'an object without a valid SHA-256',
    [{ ...event(), source: null, sourceRef: { ...object, sha256: 'abc' } }],
    /sourceRef.sha256 matches regex/,
  ],
  ['a ref that is none', [{ ...event(), subscription: 'No Ref' }], /subscription matches regex/],
];

describe('what others write', () => {
  it.each(WRONG)('%s does not keep the contract', async (what, records, found) => {
    const values = await Promise.all(records.map((record) => topics.encode('accounts-entries', record)));
    const physicalName = await topics.copy(what.replaceAll(/[^a-z]+/gi, '-'), values);
    const judgement = await judge(contractFor(topics.fixture, 'accounts-entries', { physicalName }));
    expect(faultsOf(judgement), judgement.output).toEqual([expect.stringMatching(found)]);
    expect(judgement.exitCode).toBe(1);
  });

  it('a contract that asks for more than a topic gives is not kept: a repeat is no fault of the topic', async () => {
    const text = (yaml: string) =>
      yaml
        .replace('      - name: eventId\n', '      - name: eventId\n        unique: true\n')
        .replace('- name: CreDtTm', '- name: CreDtTime');
    const judgement = await judge(contractFor(topics.fixture, 'payment-status', { text }));
    expect(faultsOf(judgement), judgement.output).toEqual([
      'failed: Check that unique field eventId has no duplicate values',
      "failed: Check that field 'pacs002.FIToFIPmtStsRpt.GrpHdr.CreDtTime' is present",
    ]);
    expect(judgement.exitCode).toBe(1);
  });
});
