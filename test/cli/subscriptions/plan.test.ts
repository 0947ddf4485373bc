import { describe, expect, it } from 'vitest';
import { commandsOf, planChanges } from '../../../src/cli/subscriptions/plan.ts';
import type { WantedSubscription } from '../../../src/cli/subscriptions/read-wanted.ts';
import { showPlan } from '../../../src/cli/subscriptions/show-plan.ts';
import type { ListedDrift } from '../../../src/core/command.ts';
import { DEFAULT_DIALECT } from '../../../src/provider/dialect.ts';
import { replacedText, type SubscriptionRecord } from '../../../src/subscriptions/subscription-record.ts';
import { subscriptionRecord } from '../../support/subscription-record.ts';

const TOPIC = 'payments.commands';

const wanted = (ref: string, more: Partial<WantedSubscription> = {}): WantedSubscription => ({
  ref,
  events: ['payment-status'],
  adopt: false,
  extra: {},
  at: `s.yaml:1:1`,
  ...more,
});

const record = (ref: string, more: Partial<SubscriptionRecord> = {}) =>
  subscriptionRecord({
    ref,
    subscriptionId: `id-${ref}`,
    receiverUrl: `https://x/${ref}`,
    events: ['payment-status'],
    owner: TOPIC,
    commandId: `c-${ref}`,
    ...more,
  });

const NOTE = '{"url":"https://older.example","note":1}';

/** A creation over what the provider has lost. */
const ANEW = { extra: NOTE, state: 'REQUESTED', replaced: replacedText(record('a')) } as const;

const drift = (ref: string | null, code: string): ListedDrift => {
  const errorCode = `SUBSCRIPTION_${code}`;
  return { ref, subscriptionId: `id-${ref}`, errorCode, message: `${errorCode}: so it is` };
};

function planOf(
  subscriptions: WantedSubscription[],
  records: SubscriptionRecord[] = [],
  drifts: ListedDrift[] = [],
  listsNone = false,
) {
  return planChanges({ topic: undefined, subscriptions }, TOPIC, {
    records,
    drift: drifts,
    listsNone,
    dialect: DEFAULT_DIALECT,
  });
}

const actions = (plan: ReturnType<typeof planOf>) =>
  plan.changes.map(({ ref, action }) => `${action} ${ref}`);

describe('a plan', () => {
  it('has nothing to do if nothing differs; the order of events does not matter', () => {
    const events = ['payment-status', 'accounts-entries'];
    const plan = planOf([wanted('a', { events: events.toSorted() })], [record('a', { events })]);
    expect([plan.changes, plan.unchanged]).toEqual([[], ['a']]);
    expect(showPlan(plan, 's.yaml')).toEqual([
      'Subscriptions of payments.commands:',
      'Nothing to do: 1 already as in s.yaml.',
    ]);
  });

  it.each([
    ['create', 'is not there', [], {}],
    ['create', 'was deleted', [record('a', { state: 'RETIRED' })], {}],
    ['create', 'was deleted by another topic', [record('a', { state: 'RETIRED', owner: 'o' })], {}],
    ['create', 'did not finish', [record('a', { state: 'REQUESTED' })], {}],
    ['adopt', 'is to be adopted', [], { adopt: true, events: null }],
    ['adopt', 'was not adopted to the end', [record('a', { replaced: 'null' })], { adopt: true }],
    ['update', 'has other events', [record('a', { events: ['accounts-entries'] })], {}],
    ['update', 'was adopted with unknown events', [record('a', { events: [] })], {}],
  ] as const)('has to %s what %s', (action, _, records, more) => {
    expect(actions(planOf([wanted('a', more)], [...records]))).toEqual([`${action} a`]);
  });

  it('keeps the events of an adopted subscription', () => {
    expect(planOf([wanted('a', { adopt: true, events: null })], [record('a')]).unchanged).toEqual(['a']);
  });

  it.each([
    ['CHANGED', 'update'],
    ['DISABLED', 'update'],
    ['MISSING', 'replace'],
  ])('repairs what is %s at the provider: %s', (code, action) => {
    const plan = planOf([wanted('a')], [record('a')], [drift('a', code)]);
    expect(actions(plan)).toEqual([`${action} a`]);
    expect(plan.changes[0]?.drift?.errorCode).toBe(`SUBSCRIPTION_${code}`);
  });

  it('updates other extra fields, and leaves them unchanged if the file has none', () => {
    const records = [record('a', { extra: '{"x":{"b":1,"a":2}}' })];
    expect(planOf([wanted('a')], records).unchanged).toEqual(['a']);
    expect(planOf([wanted('a', { extra: { x: { a: 2, b: 1 } } })], records).unchanged).toEqual(['a']);
    const plan = planOf([wanted('a', { extra: { x: 1 } })], records);
    expect(actions(plan)).toEqual(['update a']);
    expect(showPlan(plan, 's.yaml').slice(2, 6)).toEqual([
      ...['  ~ a will be updated', '        payment-status'],
      ...['      - extra {"x":{"b":1,"a":2}}', '      + extra {"x":1}'],
    ]);
  });

  it.each([
    ['replaced', record('a', { extra: NOTE }), 'MISSING', ['replace a']],
    ['updated, as somebody has changed it', record('a', { extra: NOTE }), 'CHANGED', ['update a']],
    ['created anew once more', record('a', ANEW), 'MISSING', ['create a']],
  ])('sends again the extra fields of what is %s, where the file has none', (_, before, code, expected) => {
    const plan = planOf([wanted('a')], [before], [drift('a', code)]);
    expect(actions(plan)).toEqual(expected);
    expect(plan.changes[0]?.drift).toMatchObject({ errorCode: `SUBSCRIPTION_${code}` });
    // What would set the address is left out: an older rule has accepted it.
    expect(plan.changes.flatMap(commandsOf).at(-1)).toMatchObject({ extra: { note: 1 } });
    const other = planOf([wanted('a', { extra: { note: 2 } })], [before], [drift('a', code)]);
    expect(other.changes.flatMap(commandsOf).at(-1)).toMatchObject({ extra: { note: 2 } });
  });

  it('leaves out the extra fields of a first creation that came to no end', () => {
    const first = record('a', { ...ANEW, replaced: 'null' });
    expect(planOf([wanted('a')], [first]).changes[0]).toMatchObject({ action: 'create', extra: {} });
  });

  it('takes nothing from an adoption that did not come to its end: nobody has changed it', () => {
    const before = record('a', { extra: NOTE, replaced: 'null' });
    const [change] = planOf([wanted('a', { adopt: true })], [before], [drift('a', 'CHANGED')]).changes;
    expect(change).toMatchObject({ action: 'adopt', drift: null, extra: {} });
  });

  it('deletes what the topic owns and the file does not name, and nothing else', () => {
    const records = [
      record('a'),
      record('gone', { state: 'RETIRED' }),
      record('others', { owner: 'payments.commands-b' }),
    ];
    const plan = planOf([], records, [drift('others', 'CHANGED'), drift(null, 'FOREIGN')]);
    expect(actions(plan)).toEqual(['delete a']);
    expect(plan.foreign.map(({ errorCode }) => errorCode)).toEqual(['SUBSCRIPTION_FOREIGN']);
  });

  it('cannot take what belongs to another topic, and names its line in the file', () => {
    const plan = planOf([wanted('a')], [record('a', { owner: 'payments.commands-b' })]);
    expect([plan.changes, plan.conflicts]).toEqual([[], ['s.yaml:1:1: a belongs to payments.commands-b']]);
  });

  it('cannot take a ref that the topic does not take, and names its line in the file', () => {
    const present = { records: [], drift: [], listsNone: false, dialect: DEFAULT_DIALECT };
    const subscriptions = [wanted('ledger-eu'), wanted('other')];
    const plan = planChanges({ topic: undefined, subscriptions }, TOPIC, {
      ...present,
      refPatterns: ['ledger-*'],
    });
    expect(plan.conflicts).toEqual([
      `s.yaml:1:1: ${TOPIC} takes no ref other: COMMAND_TOPICS limits it to ledger-*`,
    ]);
    // Nothing is sent of what needs no change, or is not theirs; what is not in the file would be deleted.
    const records = [record('other'), record('gone')];
    const kept = planChanges({ topic: undefined, subscriptions }, TOPIC, {
      ...present,
      records,
      refPatterns: ['ledger-*'],
    });
    expect([kept.unchanged, kept.conflicts]).toEqual([
      ['other'],
      [
        `to be deleted, as it is not in the file: ${TOPIC} takes no ref gone: COMMAND_TOPICS limits it to ledger-*`,
      ],
    ]);
    const every = planChanges({ topic: undefined, subscriptions }, TOPIC, { ...present, refPatterns: null });
    expect(every.conflicts).toEqual([]);
  });

  it('is printed as a difference', () => {
    const plan = planOf(
      [
        wanted('new', { events: ['accounts-entries', 'payment-status'], extra: { label: 'x' } }),
        wanted('changed', { events: ['accounts-entries', 'payment-status'] }),
        wanted('drifted'),
        wanted('lost'),
        wanted('same'),
        wanted('legacy', { adopt: true, events: null }),
      ],
      [
        record('changed', { events: ['collection-status', 'payment-status'] }),
        ...[record('drifted'), record('lost'), record('same'), record('unwanted')],
      ],
      [drift('drifted', 'CHANGED'), drift('lost', 'MISSING'), drift(null, 'FOREIGN')],
    );
    expect(showPlan(plan, 's.yaml').join('\n')).toBe(
      `
Subscriptions of payments.commands:

  + new will be created
      + accounts-entries
      + payment-status
      + extra {"label":"x"}
  ~ changed will be updated
      + accounts-entries
      - collection-status
        payment-status
  ! drifted has drifted: SUBSCRIPTION_CHANGED: so it is
  ~ drifted will be updated
        payment-status
  ! lost has drifted: SUBSCRIPTION_MISSING: so it is
  ~ lost will be created again
      + payment-status
  + legacy will be adopted
  - unwanted will be deleted
      - payment-status
  ! id-null: SUBSCRIPTION_FOREIGN: so it is

Plan: 1 to create, 1 to adopt, 2 to update, 1 to replace, 1 to delete; 1 already as in s.yaml.
`.trim(),
    );
  });

  it('prints no control characters that come from the provider', () => {
    const steering = { ...drift(null, 'FOREIGN'), message: 'https://x/\u001b[2J' };
    expect(showPlan(planOf([], [], [steering]), 's.yaml').join('\n')).toContain('https://x/\\u001b[2J');
  });
});

describe('the commands of a plan', () => {
  const commands = (...given: Parameters<typeof planOf>) => planOf(...given).changes.flatMap(commandsOf);

  it('name the state that the plan was made from, so that later changes are not undone', () => {
    expect(commands([wanted('a', { events: ['accounts-entries'] })], [record('a'), record('b')])).toEqual([
      {
        commandId: expect.any(String),
        type: 'subscription.update',
        ref: 'a',
        ifMatch: 'c-a',
        events: ['accounts-entries'],
      },
      { commandId: expect.any(String), type: 'subscription.delete', ref: 'b', ifMatch: 'c-b' },
    ]);
  });

  it('create anew over the state where the provider still has any', () => {
    expect(commands([wanted('a', { extra: { note: 1 } })], [record('a')], [drift('a', 'MISSING')])).toEqual([
      {
        commandId: expect.any(String),
        type: 'subscription.create',
        ref: 'a',
        ifMatch: 'c-a',
        events: ['payment-status'],
        extra: { note: 1 },
      },
    ]);
  });

  it.each([
    ['is to be adopted', record('a'), { adopt: true }],
    ['has an adoption that came to no end', record('a', { replaced: 'null' }), {}],
    ['was changed by no command', record('a', { commandId: null }), {}],
  ])('delete first what %s: control does not create it anew', (_, before, more) => {
    const sent = commands([wanted('a', more), wanted('b')], [before, record('b')], [drift('a', 'MISSING')]);
    expect(sent.map(({ type }) => type)).toEqual(['subscription.delete', 'subscription.create']);
  });

  it('create again only what the deletion before has deleted, where the provider may have nothing', () => {
    // Of a ref that the topic's pattern no longer takes, nobody says that it is missing.
    const records = [record('a'), record('not-taken')];
    const [deletion, creation] = commands(
      [wanted('a'), wanted('not-taken')],
      records,
      [drift('a', 'MISSING')],
      true,
    );
    expect(deletion).toMatchObject({ type: 'subscription.delete', ifMatch: 'c-a' });
    expect(creation).toMatchObject({
      type: 'subscription.create',
      events: ['payment-status'],
      ifMatch: deletion?.commandId,
    });
  });

  it('create and adopt with the wanted events and extra fields', () => {
    const extra = { label: 'x' };
    expect(
      commands([wanted('a', { extra }), wanted('b', { adopt: true, events: null, extra })]),
    ).toMatchObject([
      { type: 'subscription.create', events: ['payment-status'], extra },
      { type: 'subscription.adopt', extra },
    ]);
  });
});

it('a plan prints each entry of the provider in one line, whatever it contains', () => {
  const plan = planOf(
    [wanted('a')],
    [record('a')],
    [
      { ...drift('a', 'CHANGED'), message: 'its events are x\n  - b will be deleted' },
      { ...drift(null, 'FOREIGN'), message: 'y\nNothing to do: 5 already as in s.yaml.' },
    ],
  );
  const lines = showPlan(plan, 's.yaml');
  expect(lines.filter((line) => line.includes('\n'))).toEqual([]);
  expect(lines).toContain('  ! a has drifted: its events are x\\n  - b will be deleted');
});

it('a plan is made even if a record of the state has an extra that is not JSON', () => {
  const before = ['{"a":', '[1]', 'null'].map((extra, n) => record(`r${n}`, { extra }));
  const plan = planOf(
    before.map(({ ref }) => wanted(ref, { extra: { a: 1 } })),
    before,
  );
  expect(actions(plan)).toEqual(['update r0', 'update r1', 'update r2']);
});
