import { HooklineError } from '../core/errors.ts';
import type { KafkaClient } from './kafkajs-client.ts';
import { missingTopics } from './topics.ts';
import { withAdmin } from './with-admin.ts';

/** @throws HooklineError TOPICS_MISSING naming them; the client's own error where no broker answers */
export async function checkTopics(kafka: KafkaClient, names: readonly string[]): Promise<void> {
  const missing = await withAdmin(kafka, (admin) => missingTopics(admin, names));
  if (missing.length > 0) throw new HooklineError('TOPICS_MISSING', missing.join(', '));
}
