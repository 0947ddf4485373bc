import { describe, expect, it } from 'vitest';
import { compareLifetimes, type TopicLifetime } from '../../../src/cli/doctor/check-body-store.ts';

const DAY_MS = 86_400_000;
const topic = (name: string, retentionDays: number, segmentDays = 7): TopicLifetime => ({
  topic: name,
  retentionMs: retentionDays * DAY_MS,
  segmentMs: segmentDays * DAY_MS,
});
const EVENTS = topic('payments.payment-status', 7);
const LETTERS = topic('payments.dead-letter', 30);
const compare = (
  rule: { prefix?: string; archive?: string } & ({ days: number } | { from: Date }),
  topics = [EVENTS, LETTERS],
) => compareLifetimes([{ id: 'tidy', prefix: '', ...rule }], topics, 'hookline');

describe('the check of lifecycle rules', () => {
  it('is content where objects live longer than records, and where no rule deletes any', () => {
    expect(compare({ days: 38 })).toMatchObject([
      { state: 'ok', finding: 'lifecycle rules delete or archive objects after their records' },
    ]);
    expect(compareLifetimes([], [EVENTS], 'hookline')).toMatchObject([
      { state: 'ok', finding: 'no lifecycle rule deletes or archives objects' },
    ]);
  });

  it('counts the time until the segment of a record is closed: as long as retention.ms is too short', () => {
    for (const days of [30, 37])
      expect(compare({ days })).toEqual([
        {
          check: 'object retention',
          state: 'warning',
          finding: `lifecycle rule "tidy" deletes objects after ${days} days, but payments.dead-letter keeps records for up to 37 days: retention.ms is 30 days, and a record lives until its segment is closed, after segment.ms of 7 days`,
          remedy: 'give the rule at least 38 days, or shorten retention.ms or segment.ms of the topic',
        },
      ]);
  });

  it('finds that objects are archived while records refer to them: nobody can read them', () => {
    const archive = 'DEEP_ARCHIVE';
    expect(compare({ days: 1, archive })).toMatchObject([
      {
        state: 'warning',
        finding: expect.stringMatching(
          /moves objects to DEEP_ARCHIVE, where they cannot be read, after 1 days, but payments.dead-letter keeps/,
        ),
        remedy:
          'move objects to GLACIER_IR, which can be read at once, or give the rule at least 38 days, or shorten retention.ms or segment.ms of the topic',
      },
    ]);
    expect(compare({ from: new Date('2026-11-26'), archive })).toMatchObject([
      {
        state: 'FAULT',
        finding: expect.stringContaining(
          'moves every object to DEEP_ARCHIVE, where they cannot be read, below',
        ),
      },
    ]);
    expect(compare({ days: 38, archive })).toMatchObject([{ state: 'ok' }]);
  });

  it('says that records without an end outlive every rule', () => {
    expect(compare({ days: 10_000 }, [EVENTS, topic('payments.x', Number.POSITIVE_INFINITY)])).toMatchObject([
      {
        state: 'warning',
        finding: expect.stringContaining('payments.x keeps records without end'),
        remedy: 'delete the rule, or limit retention.ms of the topic',
      },
    ]);
  });

  it.each(['2026-11-26', '2020-01-01', '2999-12-31'])(
    'finds a fault in a rule that deletes everything from a date on, %s',
    (date) => {
      expect(compare({ from: new Date(date) })).toMatchObject([
        {
          state: 'FAULT',
          finding: expect.stringContaining(`deletes every object below "" from ${date} on, new ones too`),
          remedy: 'delete the rule, or give it days instead of a date',
        },
      ]);
    },
  );

  it.each<[prefix: string, topics: string | null]>([
    ['', 'payments.dead-letter'],
    ['hook', 'payments.dead-letter'],
    ['hookline/', 'payments.dead-letter'],
    ['hookline/payments.payment-status/', 'payments.payment-status'],
    ['hookline/payments.payment-status/2026/', 'payments.payment-status'],
    ['hookline/payments.d', 'payments.dead-letter'],
    // The objects by which the doctor and readiness try the store.
    ['hookline/hookline-', null],
    ['hookline-2/', null],
    ['other/', null],
  ])('of a rule with the prefix "%s" compares the topics that it covers', (prefix, covered) => {
    const [finding] = compare({ prefix, days: 1 });
    if (covered === null) expect(finding).toMatchObject({ state: 'ok' });
    else expect(finding?.finding).toContain(`but ${covered} keeps records`);
  });

  it('covers objects at the root of the bucket', () => {
    const [finding] = compareLifetimes([{ id: '', prefix: 'payments.', days: 1 }], [EVENTS], '');
    expect(finding).toMatchObject({ state: 'warning' });
  });
});
