import kafkajs from 'kafkajs';

type Place = { readonly topic: string; readonly partition: number };

const NAME = 'HooklineWorkKeeping';
const VERSION = 1;

/**
 * Leaves a partition whose records are in work with the process that works on them; all others are dealt out evenly. A
 * rebalance would else hand a command whose call is under way to a second process, which would run it beside the first.
 * Each member tells with its wish to join what it has in work.
 */
export function workKeepingAssigner(inWork: () => readonly Place[]): kafkajs.PartitionAssigner {
  return ({ cluster }) => ({
    name: NAME,
    version: VERSION,
    protocol: ({ topics }) => ({
      name: NAME,
      metadata: kafkajs.AssignerProtocol.MemberMetadata.encode({
        version: VERSION,
        topics,
        userData: Buffer.from(JSON.stringify(inWork())),
      }),
    }),
    async assign({ members, topics }) {
      const places = topics.flatMap((topic) =>
        cluster
          .findTopicPartitionMetadata(topic)
          .map(({ partitionId }): Place => ({ topic, partition: partitionId })),
      );
      const wishes = members.map(({ memberId, memberMetadata }) => ({
        memberId,
        kept: keptBy(memberMetadata),
      }));
      return [...dealOut(places, wishes)].map(([memberId, dealt]) => ({
        memberId,
        memberAssignment: kafkajs.AssignerProtocol.MemberAssignment.encode({
          version: VERSION,
          assignment: byTopic(dealt),
          userData: Buffer.alloc(0),
        }),
      }));
    },
  });
}

type Wish = { readonly memberId: string; readonly kept: readonly Place[] };

/** What is kept goes to the first who keeps it; the rest, one by one, to whoever has least. */
export function dealOut(places: readonly Place[], wishes: readonly Wish[]): Map<string, Place[]> {
  const members = [...wishes].sort((a, b) => (a.memberId < b.memberId ? -1 : 1));
  const dealt = new Map(members.map(({ memberId }) => [memberId, [] as Place[]]));
  const isSame = (a: Place) => (b: Place) => a.topic === b.topic && a.partition === b.partition;
  const free = places.filter((place) => {
    const keeper = members.find(({ kept }) => kept.some(isSame(place)));
    if (keeper) dealt.get(keeper.memberId)?.push(place);
    return !keeper;
  });
  for (const place of free) {
    const [least] = [...dealt.values()].sort((a, b) => a.length - b.length);
    least?.push(place);
  }
  return dealt;
}

/** A member of another version, or of another kind, keeps nothing. */
function keptBy(metadata: Buffer): readonly Place[] {
  try {
    const { userData } = kafkajs.AssignerProtocol.MemberMetadata.decode(metadata) ?? {};
    const kept: unknown = JSON.parse(userData?.toString() ?? '[]');
    return Array.isArray(kept) ? kept : [];
  } catch {
    return [];
  }
}

function byTopic(places: readonly Place[]): kafkajs.Assignment {
  const assignment: kafkajs.Assignment = {};
  for (const { topic, partition } of places) assignment[topic] = [...(assignment[topic] ?? []), partition];
  return assignment;
}
