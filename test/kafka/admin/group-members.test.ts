import kafkajs from 'kafkajs';
import { expect, it } from 'vitest';
import { checkGroup } from '../../../src/kafka/admin/group-members.ts';
import type { KafkaClient } from '../../../src/kafka/connect/kafkajs-client.ts';

const { MemberMetadata } = kafkajs.AssignerProtocol;
const member = (clientHost: string, ...topics: string[]) => ({
  clientHost,
  memberMetadata: MemberMetadata.encode({ version: 1, topics, userData: Buffer.alloc(0) }),
});

const check = (members: readonly object[], topics: readonly string[]) => {
  const admin = {
    connect: async () => {},
    disconnect: async () => {},
    describeGroups: async () => ({ groups: [{ members }] }),
  };
  return checkGroup({ admin: () => admin } as unknown as KafkaClient, 'hookline-control', topics);
};

it('a group with members that read none of our topics belongs to another installation', async () => {
  const others = [member('/10.0.0.1', 'a.commands', 'a.commands.gl'), member('/10.0.0.2', 'b.commands')];
  await expect(check(others, ['b.commands'])).rejects.toThrow(
    'the group hookline-control works for another installation, at 10.0.0.1, which reads a.commands, a.commands.gl: set CONTROL_GROUP_ID',
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
  await check(members, ['b.commands', 'b.other']);
});
