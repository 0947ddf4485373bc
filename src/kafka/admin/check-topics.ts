import { HooklineError } from '../../core/errors.ts';
import type { KafkaClient } from '../connect/kafkajs-client.ts';
import { withAdmin } from './describe-topics.ts';
import { missingTopics } from './topics.ts';
import type { TopicSafety } from './watch-safety.ts';

/**
 * @throws HooklineError TOPICS_MISSING, TOPICS_UNSAFE naming them; the client's own error where no broker answers
 * @param safety also judges how safe those are that are written to
 */
export async function checkTopics(
  kafka: KafkaClient,
  names: readonly string[],
  safety?: TopicSafety,
): Promise<void> {
  await withAdmin(kafka, async (admin) => {
    const missing = await missingTopics(admin, names);
    if (missing.length > 0) throw new HooklineError('TOPICS_MISSING', missing.join(', '));
    await safety?.check(admin);
  });
}
