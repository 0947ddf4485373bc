import kafkajs from 'kafkajs';
import { expect, it } from 'vitest';
import { foreignMember } from '../../../src/kafka/admin/group-members.ts';
import type { KafkaClient } from '../../../src/kafka/connect/kafkajs-client.ts';

const { MemberMetadata } = kafkajs.AssignerProtocol;
const member = (clientHost: string, ...topics: string[]) => ({
  clientHost,
  memberMetadata: MemberMetadata.encode({ version: 1, topics, userData: Buffer.alloc(0) }),
});

const find = (members: readonly object[], topics: readonly string[]) => {
  const admin = {
    connect: async () => {},
    disconnect: async () => {},
    describeGroups: async () => ({ groups: [{ members }] }),
  };
  return foreignMember({ admin: () => admin } as unknown as KafkaClient, 'hookline-control', topics);
};

it('a member that reads none of our topics is of another installation', async () => {
  const others = [member('/10.0.0.1', 'a.commands', 'a.commands.gl'), member('/10.0.0.2', 'b.commands')];
  expect(await find(others, ['b.commands'])).toBe(
    'the group hookline-control has a member at 10.0.0.1 that reads a.commands, a.commands.gl, and only one of its members works',
  );
});

it.each([
  ['nobody', []],
  ['one with the same topics', [member('/10.0.0.1', 'b.commands')]],
  [
    'one with other topics too, as while COMMAND_TOPICS changes',
    [member('/10.0.0.1', 'b.commands', 'b.more')],
  ],
  ['one that has not joined yet', [{ clientHost: '/10.0.0.1', memberMetadata: Buffer.alloc(0) }]],
])('a group with %s is ours', async (_, members) => {
  expect(await find(members, ['b.commands', 'b.other'])).toBeNull();
});
