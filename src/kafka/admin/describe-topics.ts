import type kafkajs from 'kafkajs';
import type { KafkaClient } from '../connect/kafkajs-client.ts';

/** Runs with an admin connection, closed afterwards. */
export async function withAdmin<T>(
  kafka: KafkaClient,
  work: (admin: kafkajs.Admin) => Promise<T>,
): Promise<T> {
  const admin = kafka.admin();
  try {
    await admin.connect();
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}
