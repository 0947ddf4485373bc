import kafkajs from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { chooseWorker, singleWorkerAssigner } from '../../../src/kafka/consume/single-worker-assigner.ts';

const { MemberAssignment, MemberMetadata } = kafkajs.AssignerProtocol;

describe('of the members of a group', () => {
  it.each([
    ['the one that works goes on, whoever joins', { a: 0, b: 6, c: 0 }, 'b'],
    ['where nobody works yet, the first by name begins', { c: 0, b: 0 }, 'b'],
    ['where two say that they work, the one with more of it goes on', { a: 1, b: 6 }, 'b'],
    ['where two have as much, it is the first by name', { b: 6, a: 6 }, 'a'],
    ['nobody works where nobody is', {}, undefined],
  ])('%s', (_, counts, expected) => {
    const candidates = Object.entries(counts).map(([memberId, count]) => ({ memberId, count }));
    expect(chooseWorker(candidates)).toBe(expected);
  });

  it('none that reads other topics alone is chosen, whatever it has: it belongs to another installation', async () => {
    const cluster = { findTopicPartitionMetadata: () => [{ partitionId: 0 }] };
    const assignerOf = (count: number) => singleWorkerAssigner(() => count)({ cluster } as never);
    const member = (memberId: string, count: number, ...topics: string[]) => ({
      memberId,
      memberMetadata: assignerOf(count).protocol({ topics }).metadata,
    });
    const members = [
      member('a', 6, 'other.commands'),
      member('b', 0, 'commands'),
      member('c', 1, 'commands', 'more'),
    ];
    const dealt = await assignerOf(0).assign({ members, topics: ['commands'] } as never);
    const given = dealt.map(({ memberId, memberAssignment }) => [
      memberId,
      MemberAssignment.decode(memberAssignment)?.assignment,
    ]);
    expect(given).toEqual([
      ['a', {}],
      ['b', {}],
      ['c', { commands: [0] }],
    ]);
  });

  it('one is given all partitions of all topics, and the others none', async () => {
    const counts: Record<string, number> = { first: 1, second: 2 };
    const cluster = { findTopicPartitionMetadata: () => [{ partitionId: 0 }, { partitionId: 1 }] };
    const assignerOf = (member: string) =>
      singleWorkerAssigner(() => counts[member] ?? 0)({ cluster } as never);
    const topics = ['one', 'two'];
    const joined = Object.keys(counts).map((memberId) => ({
      memberId,
      memberMetadata: assignerOf(memberId).protocol({ topics }).metadata,
    }));
    const ofAnotherKind = MemberMetadata.encode({ version: 1, topics, userData: Buffer.from('[{"topic"') });
    const members = [...joined, { memberId: 'third', memberMetadata: ofAnotherKind }];
    const dealt = await assignerOf('first').assign({ members, topics } as never);
    expect(
      dealt.map(({ memberId, memberAssignment }) => [
        memberId,
        MemberAssignment.decode(memberAssignment)?.assignment,
      ]),
    ).toEqual([
      ['first', {}],
      ['second', { one: [0, 1], two: [0, 1] }],
      ['third', {}],
    ]);
  });
});
