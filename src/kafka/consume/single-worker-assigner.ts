import kafkajs from 'kafkajs';

type Place = { readonly topic: string; readonly partition: number };

const NAME = 'HooklineSingleWorker';
const VERSION = 1;

/**
 * Gives all partitions to one process of the group; the others stand by. What must not run beside one another (records
 * of one ref, of one id) may stand in several partitions and topics, under whatever key its sender chose: within one
 * process there is an order to it, between two there is none. Whoever works goes on, whoever joins, until he leaves or
 * isn't heard of: each member tells with its wish to join how many partitions it has.
 */
export function singleWorkerAssigner(held: () => number): kafkajs.PartitionAssigner {
  return ({ cluster }) => ({
    name: NAME,
    version: VERSION,
    protocol: ({ topics }) => ({
      name: NAME,
      metadata: kafkajs.AssignerProtocol.MemberMetadata.encode({
        version: VERSION,
        topics,
        userData: Buffer.from(String(held())),
      }),
    }),
    async assign({ members, topics }) {
      const places = topics.flatMap((topic) =>
        cluster
          .findTopicPartitionMetadata(topic)
          .map(({ partitionId }): Place => ({ topic, partition: partitionId })),
      );
      const worker = chooseWorker(
        members.map(({ memberId, memberMetadata }) => ({ memberId, held: heldBy(memberMetadata) })),
      );
      return members.map(({ memberId }) => ({
        memberId,
        memberAssignment: kafkajs.AssignerProtocol.MemberAssignment.encode({
          version: VERSION,
          assignment: memberId === worker ? byTopic(places) : {},
          userData: Buffer.alloc(0),
        }),
      }));
    },
  });
}

type Wish = { readonly memberId: string; readonly held: number };

/** Who has most; where nobody has any, the first by name, so that it is the same whoever chooses. */
export function chooseWorker(wishes: readonly Wish[]): string | undefined {
  const [first] = [...wishes].sort((a, b) => b.held - a.held || (a.memberId < b.memberId ? -1 : 1));
  return first?.memberId;
}

/** A member of another kind has nothing. */
function heldBy(metadata: Buffer): number {
  try {
    const { userData } = kafkajs.AssignerProtocol.MemberMetadata.decode(metadata) ?? {};
    return Number(userData?.toString()) || 0;
  } catch {
    return 0;
  }
}

function byTopic(places: readonly Place[]): kafkajs.Assignment {
  const assignment: kafkajs.Assignment = {};
  for (const { topic, partition } of places) assignment[topic] = [...(assignment[topic] ?? []), partition];
  return assignment;
}
