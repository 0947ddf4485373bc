import { HooklineError } from '../core/errors.ts';
import type { KafkaClient } from './kafkajs-client.ts';
import { missingTopics } from './topics.ts';

/** @throws HooklineError TOPICS_MISSING naming them; the client's own error where no broker answers */
export async function checkTopics(kafka: KafkaClient, names: readonly string[]): Promise<void> {
  const admin = kafka.admin();
  try {
    await admin.connect();
    const missing = await missingTopics(admin, names);
    if (missing.length > 0) throw new HooklineError('TOPICS_MISSING', missing.join(', '));
  } finally {
    await admin.disconnect();
  }
}
