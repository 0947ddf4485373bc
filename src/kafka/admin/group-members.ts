import kafkajs from 'kafkajs';
import type { KafkaClient } from '../connect/kafkajs-client.ts';
import { withAdmin } from './describe-topics.ts';

/**
 * Says that a consumer group has a member which reads none of these topics: of another installation. A group has one worker, so that
 * one of the two stands by as long as the other works.
 * @returns null where it has none
 */
export async function foreignMember(
  kafka: KafkaClient,
  groupId: string,
  topics: readonly string[],
): Promise<string | null> {
  const { groups } = await withAdmin(kafka, (admin) => admin.describeGroups([groupId]));
  for (const { clientHost, memberMetadata } of groups.flatMap(({ members }) => members)) {
    const others = topicsOf(memberMetadata);
    if (others.length > 0 && !others.some((topic) => topics.includes(topic)))
      return `the group ${groupId} has a member at ${clientHost.replace(/^\//, '')} that reads ${others.join(', ')}, and only one of its members works`;
  }
  return null;
}

/** None of a member that has not joined yet. */
function topicsOf(metadata: Buffer): readonly string[] {
  try {
    return kafkajs.AssignerProtocol.MemberMetadata.decode(metadata)?.topics ?? [];
  } catch {
    return [];
  }
}
