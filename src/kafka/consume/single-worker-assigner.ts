import kafkajs from 'kafkajs';

type Partition = { readonly topic: string; readonly partition: number };

const NAME = 'HooklineSingleWorker';
const VERSION = 1;

/**
 * Assigns all partitions to one process of the group; the others stand by. Records that must not run concurrently (of one
 * ref, of one id) may stand in several partitions and topics, under whatever key their sender chose: one process can
 * order them, two cannot. The process that works keeps the partitions, whichever processes join, until it leaves or is not heard of:
 * each member says in its request to join how many partitions it has. Of members that read other topics alone, which belong to another
 * installation, none is chosen: it would read nothing.
 */
export function singleWorkerAssigner(count: () => number): kafkajs.PartitionAssigner {
  return ({ cluster }) => ({
    name: NAME,
    version: VERSION,
    protocol: ({ topics }) => ({
      name: NAME,
      metadata: kafkajs.AssignerProtocol.MemberMetadata.encode({
        version: VERSION,
        topics,
        userData: Buffer.from(String(count())),
      }),
    }),
    async assign({ members, topics }) {
      const partitions = topics.flatMap((topic) =>
        cluster
          .findTopicPartitionMetadata(topic)
          .map(({ partitionId }): Partition => ({ topic, partition: partitionId })),
      );
      const candidates = members
        .map(({ memberId, memberMetadata }) => ({ memberId, ...statedIn(memberMetadata) }))
        .filter((member) => member.topics?.some((topic) => topics.includes(topic)) ?? true);
      const worker = chooseWorker(candidates);
      return members.map(({ memberId }) => ({
        memberId,
        memberAssignment: kafkajs.AssignerProtocol.MemberAssignment.encode({
          version: VERSION,
          assignment: memberId === worker ? byTopic(partitions) : {},
          userData: Buffer.alloc(0),
        }),
      }));
    },
  });
}

type Candidate = { readonly memberId: string; readonly count: number };

/** The one that has most partitions; the first by name where several have as many, so that every leader chooses the same. */
export function chooseWorker(candidates: readonly Candidate[]): string | undefined {
  const [first] = [...candidates].sort((a, b) => b.count - a.count || (a.memberId < b.memberId ? -1 : 1));
  return first?.memberId;
}

/** What a member states. A count of 0 for one with another assigner. */
function statedIn(metadata: Buffer): { readonly count: number; readonly topics?: readonly string[] } {
  try {
    const { userData, topics } = kafkajs.AssignerProtocol.MemberMetadata.decode(metadata) ?? {};
    return { count: Number(userData?.toString()) || 0, ...(topics && { topics }) };
  } catch {
    return { count: 0 };
  }
}

function byTopic(partitions: readonly Partition[]): kafkajs.Assignment {
  const assignment: kafkajs.Assignment = {};
  for (const { topic, partition } of partitions)
    assignment[topic] = [...(assignment[topic] ?? []), partition];
  return assignment;
}
