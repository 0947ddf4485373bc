import { describe, expect, it } from 'vitest';
import { changesTo, topicSpecs } from '../../../src/kafka/admin/topic-specs.ts';

const DAY = 86_400_000;
const OPTIONS = { allowDataLoss: false, minInsyncReplicas: 2 };
const spec = (config: Record<string, string>) => ({ name: 't', partitions: 6, replicationFactor: 3, config });
const topic = (config: ReadonlyMap<string, string>, replicas = 1, isEmpty = false) => ({
  replicas,
  config,
  isEmpty,
});
/** What becomes of one setting. */
function outcome(setting: string, is: string | undefined, wanted: string, allowDataLoss = false) {
  const found = new Map(is === undefined ? [] : [[setting, is]]);
  const { changes, notes, kept } = changesTo(spec({ [setting]: wanted }), topic(found), {
    ...OPTIONS,
    allowDataLoss,
  });
  return changes.length > 0 ? 'changed' : notes.length > 0 ? 'noted' : kept.length > 0 ? 'kept' : 'same';
}

describe('a setting that', () => {
  it.each<[string, string, string | undefined, string, string, string]>([
    ['is as wanted', 'retention.ms', `${DAY}`, `${DAY}`, 'same', 'same'],
    ['keeps records for too short', 'retention.ms', `${DAY}`, `${30 * DAY}`, 'changed', 'changed'],
    ['keeps records for longer', 'retention.ms', `${90 * DAY}`, `${30 * DAY}`, 'kept', 'changed'],
    ['keeps records for ever', 'retention.ms', '-1', `${30 * DAY}`, 'kept', 'changed'],
    ['is not reported', 'retention.ms', undefined, `${30 * DAY}`, 'noted', 'changed'],
    ['keeps more bytes', 'retention.bytes', '-1', '1000', 'kept', 'changed'],
    ['keeps fewer bytes', 'retention.bytes', '1000', '-1', 'changed', 'changed'],
    ['would begin to delete', 'cleanup.policy', 'compact', 'delete', 'noted', 'changed'],
    ['would begin to compact', 'cleanup.policy', 'delete', 'compact', 'noted', 'changed'],
    ['would no longer delete', 'cleanup.policy', 'compact,delete', 'compact', 'changed', 'changed'],
    ['allows larger records', 'max.message.bytes', '100663296', '95000000', 'changed', 'changed'],
  ])('%s (%s)', (_, setting, is, wanted, usually, withDataLoss) => {
    expect([outcome(setting, is, wanted), outcome(setting, is, wanted, true)]).toEqual([
      usually,
      withDataLoss,
    ]);
  });

  it('is reported with what stays and what would change it', () => {
    const { kept } = changesTo(
      spec({ 'retention.ms': '1' }),
      topic(
        new Map([
          ['retention.ms', '-1'],
          ['min.insync.replicas', '2'],
        ]),
        3,
      ),
      OPTIONS,
    );
    expect(kept).toEqual([
      'retention.ms stays unlimited, as 1 would delete records: --allow-data-loss changes it',
    ]);
  });
});

it('every topic has the times of the brokers, which a topic that exists is given without a loss', () => {
  const specs = topicSpecs({
    prefix: 'payments',
    eventTopics: ['payment-status', 'unclassified'],
    commandTopics: ['commands'],
    partitions: 6,
    replicationFactor: 3,
    maxRecordBytes: 95_000_000,
    minInsyncReplicas: 2,
  });
  const others = specs.filter(({ config }) => config['message.timestamp.type'] !== 'LogAppendTime');
  expect([specs.length, others]).toEqual([8, []]);
  expect(outcome('message.timestamp.type', 'CreateTime', 'LogAppendTime')).toBe('changed');
});

describe('min.insync.replicas', () => {
  const changed = (replicas: number, is: string, minInsyncReplicas = 2) => {
    const { changes } = changesTo(
      spec({ 'min.insync.replicas': '2' }),
      topic(new Map([['min.insync.replicas', is]]), replicas),
      {
        ...OPTIONS,
        minInsyncReplicas,
      },
    );
    return changes.map(({ wanted }) => wanted)[0];
  };

  it('depends on the present replicas of the topic', () => {
    expect([1, 2, 3].map((replicas) => changed(replicas, '1'))).toEqual([undefined, undefined, '2']);
  });

  it('is the value of the installation, and never lowered', () => {
    expect([changed(5, '2', 3), changed(5, '4', 3), changed(3, '1', 9)]).toEqual(['3', undefined, '3']);
  });
});

it('a limit in bytes beside a retention in time is reported', () => {
  const config = new Map([
    ['retention.bytes', '1000'],
    ['retention.ms', '5'],
  ]);
  expect(changesTo(spec({ 'retention.ms': '5' }), topic(config), OPTIONS).notes).toEqual([
    'retention.bytes is 1000: records can be deleted before retention.ms is over',
  ]);
});

it.each([
  [
    'an event topic that keeps records for less than a day',
    {},
    { 'retention.ms': '60000' },
    /stand still for a day/,
  ],
  ['an event topic with a limit in bytes', {}, { 'retention.bytes': '1000' }, /retention.bytes is 1000/],
  [
    'a state that expires',
    { 'cleanup.policy': 'compact' },
    { 'cleanup.policy': 'delete', 'retention.ms': '60000' },
    /the state is deleted/,
  ],
])('%s is reported', (_, wanted, config, note) => {
  const { notes } = changesTo(spec(wanted), topic(new Map(Object.entries(config))), OPTIONS);
  expect(notes).toContainEqual(expect.stringMatching(note));
});

it('an event topic with the usual retention is not reported', () => {
  const config = new Map([
    ['retention.ms', '604800000'],
    ['retention.bytes', '-1'],
  ]);
  expect(changesTo(spec({}), topic(config), OPTIONS).notes).toEqual([]);
});

describe('a topic without records', () => {
  const STATE = { 'cleanup.policy': 'compact' };

  it('gets its cleanup policy, and no note of what the earlier one would have deleted', () => {
    const config = new Map([
      ['cleanup.policy', 'delete'],
      ['retention.ms', '604800000'],
    ]);
    const { changes, ...rest } = changesTo(spec(STATE), topic(config, 1, true), OPTIONS);
    expect(changes).toEqual([{ setting: 'cleanup.policy', is: 'delete', wanted: 'compact' }]);
    expect(rest).toEqual({ notes: [], isRefused: false, kept: [] });
  });

  it('keeps a longer retention all the same', () => {
    const config = new Map([['retention.ms', '-1']]);
    const { changes, kept } = changesTo(spec({ 'retention.ms': '1' }), topic(config, 1, true), OPTIONS);
    expect([changes, kept]).toEqual([[], [expect.stringContaining('retention.ms stays unlimited')]]);
  });
});
