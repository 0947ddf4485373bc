import kafkajs from 'kafkajs';
import type { KafkaClient } from '../connect/kafkajs-client.ts';
import { withAdmin } from './describe-topics.ts';

/**
 * Checks that no member of a consumer group reads other topics alone: those of another installation. A group has one worker, so that
 * one of the two would stand by for ever.
 * @throws Error that names the member, its topics and the remedy
 */
export const checkGroup = (kafka: KafkaClient, groupId: string, topics: readonly string[]): Promise<void> =>
  withAdmin(kafka, async (admin) => {
    const { groups } = await admin.describeGroups([groupId]);
    for (const { clientHost, memberMetadata } of groups.flatMap(({ members }) => members)) {
      const others = topicsOf(memberMetadata);
      if (others.length === 0 || others.some((topic) => topics.includes(topic))) continue;
      const host = clientHost.replace(/^\//, '');
      throw new Error(
        `the group ${groupId} works for another installation, at ${host}, which reads ${others.join(', ')}: set CONTROL_GROUP_ID to a group of this one`,
      );
    }
  });

/** None of a member that has not joined yet. */
function topicsOf(metadata: Buffer): readonly string[] {
  try {
    return kafkajs.AssignerProtocol.MemberMetadata.decode(metadata)?.topics ?? [];
  } catch {
    return [];
  }
}
